//! A stage that several processes share: one on each device at a time, each with a part of the
//! shards.

use std::{
    collections::{BTreeSet, VecDeque},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Instant,
};

use anyhow::Context;
use rl755_run::Interrupt;

use crate::{
    child::{POLL, ask_to_stop, describe, peak_memory, was_interrupted},
    workspace,
};

/// How a shared stage ended, when nothing failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    /// Whether every part is done; else it was interrupted, and what was done is saved.
    pub(crate) complete: bool,
    /// How long it took.
    pub(crate) seconds: f64,
    /// The most memory the processes held together, in bytes.
    pub(crate) peak_memory: Option<u64>,
}

/// How the shards of a dataset are split: `outer` parts of `sub` shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) outer: usize,
    pub(crate) sub: usize,
}

impl Split {
    /// Splits further, so that each of `devices` gets a part. The number of shards stays the same
    /// where `devices` divides it, and grows as little as possible where not.
    pub(crate) fn over(self, devices: usize) -> Self {
        if self.outer >= devices {
            return self;
        }
        Self { outer: devices, sub: (self.outer * self.sub).div_ceil(devices) }
    }
}

/// A part that waits for a device.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiting {
    part: usize,
    /// The device that its first process died on.
    died_on: Option<usize>,
}

/// The parts that no process works on yet.
#[derive(Debug)]
struct Queue {
    parts: VecDeque<Waiting>,
    devices: usize,
}

impl Queue {
    fn new(parts: usize, devices: usize) -> Self {
        let parts = (0..parts).map(|part| Waiting { part, died_on: None }).collect();
        Self { parts, devices }
    }

    /// The next part for `device`: not one that died on it, while there are other devices.
    fn next(&mut self, device: usize) -> Option<Waiting> {
        let suits = |w: &Waiting| self.devices == 1 || w.died_on != Some(device);
        let at = self.parts.iter().position(suits)?;
        self.parts.remove(at)
    }

    /// Takes back a part whose process died on `device`; says no when it was the second.
    fn take_back(&mut self, waiting: &Waiting, device: usize) -> bool {
        let first = waiting.died_on.is_none();
        if first {
            self.parts.push_back(Waiting { part: waiting.part, died_on: Some(device) });
        }
        first
    }
}

struct Worker {
    waiting: Waiting,
    device: usize,
    child: Child,
    log: PathBuf,
    started: Instant,
}

/// Does `parts` parts on `devices` devices. `command` makes the command of a part on a device; what
/// its process prints goes to a file in `logs`.
///
/// A part whose process dies is handed to another one, once. When that dies too, the others are
/// asked to save and stop.
pub(crate) fn run(
    parts: usize,
    devices: usize,
    logs: &Path,
    command: &dyn Fn(usize, usize) -> Command,
    interrupt: &Interrupt,
) -> anyhow::Result<Shared> {
    let started = Instant::now();
    fs::create_dir_all(logs).with_context(|| format!("cannot write {}", logs.display()))?;
    let mut queue = Queue::new(parts, devices);
    let mut idle: BTreeSet<usize> = (0..devices).collect();
    let mut workers: Vec<Worker> = Vec::new();
    let mut peak = None;
    let mut failure = None;
    let mut stopping = false;
    let mut done = 0;
    loop {
        if !stopping && (interrupt.is_raised() || failure.is_some()) {
            workers.iter().for_each(|worker| ask_to_stop(&worker.child));
            stopping = true;
        }
        if !stopping {
            for device in idle.clone() {
                let Some(waiting) = queue.next(device) else { continue };
                let log = logs.join(format!("part-{:03}-of-{parts:03}.log", waiting.part));
                match start(command(waiting.part, device), waiting, device, log) {
                    Ok(worker) => workers.push(worker),
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
                idle.remove(&device);
            }
        }
        peak = peak.max(workers.iter().map(|worker| peak_memory(&worker.child)).sum());
        for (worker, status) in take_ended(&mut workers)? {
            idle.insert(worker.device);
            let part = worker.waiting.part;
            if status.success() {
                done += 1;
                let seconds = worker.started.elapsed().as_secs();
                println!("part {part} is done after {seconds} s; {done} of {parts}");
            } else if !(stopping && was_interrupted(status)) {
                let report = report(&worker, status, command);
                if stopping {
                    failure.get_or_insert_with(|| anyhow::anyhow!(report));
                } else if queue.take_back(&worker.waiting, worker.device) {
                    eprintln!("{report}\npart {part} goes to another process");
                } else {
                    let second = || anyhow::anyhow!("{report}\nIt was the second attempt");
                    failure.get_or_insert_with(second);
                }
            }
        }
        if workers.is_empty() && (stopping || done == parts) {
            break;
        }
        // The children are looked at in turn: their peak memory is gone with them, and nothing waits
        // for several of them and for the interrupt at once.
        thread::sleep(POLL);
    }
    match failure {
        Some(failure) => Err(failure),
        None => Ok(Shared {
            complete: done == parts,
            seconds: started.elapsed().as_secs_f64(),
            peak_memory: peak,
        }),
    }
}

fn start(
    mut command: Command,
    waiting: Waiting,
    device: usize,
    log: PathBuf,
) -> anyhow::Result<Worker> {
    // A second attempt writes after what the first one said.
    let file = File::options()
        .create(true)
        .write(true)
        .append(waiting.died_on.is_some())
        .truncate(waiting.died_on.is_none())
        .open(&log)
        .with_context(|| format!("cannot write {}", log.display()))?;
    let errors = file.try_clone()?;
    let child = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
    let child = child.with_context(|| format!("cannot start {}", workspace::display(&command)))?;
    Ok(Worker { waiting, device, child, log, started: Instant::now() })
}

/// Takes the workers whose processes have ended out of `workers`.
fn take_ended(workers: &mut Vec<Worker>) -> io::Result<Vec<(Worker, ExitStatus)>> {
    let mut ended = Vec::new();
    let mut at = 0;
    while at < workers.len() {
        match workers[at].child.try_wait()? {
            Some(status) => ended.push((workers.swap_remove(at), status)),
            None => at += 1,
        }
    }
    Ok(ended)
}

/// What a dead worker said last, and how to run it alone.
fn report(
    worker: &Worker,
    status: ExitStatus,
    command: &dyn Fn(usize, usize) -> Command,
) -> String {
    const LINES: usize = 20;
    let said = fs::read(&worker.log).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    let tail: Vec<String> =
        lines[lines.len().saturating_sub(LINES)..].iter().map(|l| format!("    {l}")).collect();
    let part = worker.waiting.part;
    format!(
        "the process of part {part} {}; it said last ({}):\n{}\n  its command: {}",
        describe(status),
        worker.log.display(),
        tail.join("\n"),
        workspace::display(&command(part, worker.device)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_gets_a_part_and_the_shards_stay_the_same() {
        let check = |outer, sub, devices, expected| {
            let split = Split { outer, sub }.over(devices);
            assert_eq!((split.outer, split.sub), expected);
        };
        check(1, 24, 1, (1, 24));
        check(1, 24, 4, (4, 6));
        check(12, 10, 4, (12, 10));
        check(2, 3, 4, (4, 2));
        check(1, 1, 3, (3, 1));
    }

    #[test]
    fn a_part_is_not_given_to_the_device_it_died_on() {
        let mut queue = Queue::new(3, 2);
        let first = queue.next(0).unwrap();
        assert_eq!(first.part, 0);
        assert!(queue.take_back(&first, 0));
        assert_eq!(queue.next(0).unwrap().part, 1);
        assert_eq!(queue.next(0).unwrap().part, 2);
        assert_eq!(queue.next(0), None);
        let again = queue.next(1).unwrap();
        assert_eq!(again.part, 0);
        assert!(!queue.take_back(&again, 1));
    }

    #[test]
    fn an_only_device_gets_the_part_again() {
        let mut queue = Queue::new(1, 1);
        let first = queue.next(0).unwrap();
        assert!(queue.take_back(&first, 0));
        assert_eq!(queue.next(0).unwrap().part, 0);
    }

    /// Runs `script` with $PART and $DEVICE in a directory of its own.
    fn shell(script: &str, parts: usize, devices: usize) -> (anyhow::Result<Shared>, String) {
        let directory = tempfile::tempdir().unwrap();
        let command = |part: usize, device: usize| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]).current_dir(directory.path());
            command.env("PART", part.to_string()).env("DEVICE", device.to_string());
            command
        };
        let logs = directory.path().join("logs");
        let ended = run(parts, devices, &logs, &command, &Interrupt::new());
        let seen = fs::read_to_string(directory.path().join("seen")).unwrap_or_default();
        (ended, seen)
    }

    #[test]
    fn all_parts_are_done_once() {
        let (ended, seen) = shell("echo $PART >> seen", 7, 3);
        assert!(ended.unwrap().complete);
        let mut parts: Vec<&str> = seen.lines().collect();
        parts.sort_unstable();
        assert_eq!(parts, ["0", "1", "2", "3", "4", "5", "6"]);
    }

    #[test]
    fn a_dead_workers_part_is_done_by_another() {
        let script = "if [ $PART = 1 ] && mkdir once 2>/dev/null; then kill -KILL $$; fi; \
                      echo $PART >> seen";
        let (ended, seen) = shell(script, 3, 2);
        assert!(ended.unwrap().complete);
        assert_eq!(seen.lines().filter(|&part| part == "1").count(), 1);
    }

    #[test]
    fn a_part_that_dies_twice_fails_with_what_it_said() {
        let script = "if [ $PART = 0 ]; then echo 'error: no memory' >&2; exit 1; fi";
        let error = format!("{:#}", shell(script, 3, 2).0.unwrap_err());
        assert!(error.contains("error: no memory") && error.contains("part 0"), "{error}");
        assert!(error.contains("exit code 1") && error.contains("second attempt"), "{error}");
    }

    #[test]
    fn an_interrupted_stage_starts_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::new();
        interrupt.raise();
        let command = |_: usize, _: usize| Command::new("/bin/false");
        let ended = run(2, 2, directory.path(), &command, &interrupt).unwrap();
        assert!(!ended.complete);
    }
}
