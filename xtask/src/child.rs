//! A stage as a child process: watched while it runs, asked to stop when we are.

use std::{
    fs, io,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rl755_run::Interrupt;

use crate::command::INTERRUPTED;

/// How often a child is looked at.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// How a child ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// Its exit code, or the signal that killed it.
    pub(crate) status: ExitStatus,
    /// How long it ran.
    pub(crate) seconds: f64,
    /// The most memory it held at once, in bytes; known on Linux only.
    pub(crate) peak_memory: Option<u64>,
}

/// Runs `command` to its end, its output going where ours goes.
///
/// When `interrupt` is raised the child gets SIGTERM once, and is waited for: it saves its work.
/// (Ctrl-C at a terminal reaches the child directly as well; it takes both for one request.)
pub(crate) fn run(command: &mut Command, interrupt: &Interrupt) -> io::Result<Ended> {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::null()).spawn()?;
    let mut peak = None;
    let mut asked = false;
    // A short stage is looked at often, so that its peak is seen and its end is not waited for.
    let mut pause = Duration::from_millis(1);
    loop {
        peak = peak.max(peak_memory(&child));
        if let Some(status) = child.try_wait()? {
            return Ok(Ended {
                status,
                seconds: started.elapsed().as_secs_f64(),
                peak_memory: peak,
            });
        }
        if interrupt.is_raised() && !asked {
            ask_to_stop(&child);
            asked = true;
        }
        // The child is looked at in turn: its peak memory is gone with it, and nothing waits for a
        // child and for the interrupt at once.
        thread::sleep(pause);
        pause = (2 * pause).min(POLL);
    }
}

/// Sends SIGTERM to a child that has not been waited for.
pub(crate) fn ask_to_stop(child: &Child) {
    if let Ok(id) = i32::try_from(child.id()) {
        // It fails only when the child is gone already.
        let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
    }
}

/// The most memory that a running child has held so far, in bytes.
pub(crate) fn peak_memory(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Whether a child ended because it was asked to stop: it saved its work, or it had not begun to
/// listen and lost nothing.
pub(crate) fn was_interrupted(status: ExitStatus) -> bool {
    let stops = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    status.code() == Some(i32::from(INTERRUPTED))
        || signal.is_some_and(|signal| stops.iter().any(|stop| *stop as i32 == signal))
}

/// How a child ended, in words.
pub(crate) fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = Signal::try_from(signal).map_or("an unknown signal", Signal::as_str);
        let hint = if signal == Signal::SIGKILL as i32 {
            "; the system kills what takes too much memory"
        } else {
            ""
        };
        return format!("was killed by {name}{hint}");
    }
    match status.code() {
        Some(code) => format!("ended with exit code {code}"),
        None => format!("ended with {status}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_childs_end_is_told_in_words() {
        let describe_end =
            |script: &str| describe(run(&mut shell(script), &Interrupt::new()).unwrap().status);
        assert_eq!(describe_end("exit 3"), "ended with exit code 3");
        assert!(describe_end("kill -KILL $$").contains("SIGKILL; the system kills"));
    }

    #[test]
    fn an_interrupted_child_is_asked_to_stop_and_waited_for() {
        let interrupt = Interrupt::new();
        interrupt.raise();
        // Without the signal the child would never end.
        let script = "trap 'echo saved; exit 130' TERM; while :; do :; done";
        let ended = run(&mut shell(script), &interrupt).unwrap();
        // The signal may come before the trap is set.
        assert!(ended.status.code().is_none_or(|code| code == 130), "{:?}", ended.status);
    }

    #[test]
    fn a_failure_is_no_interruption() {
        let interrupted = |script: &str| {
            was_interrupted(run(&mut shell(script), &Interrupt::new()).unwrap().status)
        };
        assert!(interrupted("exit 130") && interrupted("kill -TERM $$"));
        assert!(!interrupted("exit 1") && !interrupted("exit 0") && !interrupted("kill -KILL $$"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn peak_memory_is_seen() {
        let mut command = shell("echo ready; read line");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(peak_memory(&child).unwrap() > 100_000);
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
