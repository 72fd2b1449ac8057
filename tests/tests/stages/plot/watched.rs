//! A training that is watched, as a process, and its worker.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use rl755_run::Digest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lab::Lab;

/// Nothing that is waited for takes longer.
const LIMIT: Duration = Duration::from_secs(60);
/// How often it is looked whether that has come which nobody tells.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// How it says where the page is.
const AT: &str = "the plot is at ";

/// A world model of CartPole, small enough for a test.
const WORLD_MODEL: [(&str, &str); 5] = [
    (
        "collect",
        "--environment CartPole-v1 --policy uniform --num-rollouts 8 --max-steps 40 \
         --out-dir rollouts",
    ),
    ("pack", "--rollout-dir rollouts --out-dir dataset --validation-fraction 0.25"),
    (
        "train-encoder",
        "--model mlp --rollouts-dataset dataset --model-dir encoder --train-steps 4 \
         --batch-size 4 --representation-size 3 --obs-sampled-per-rollout 5",
    ),
    ("encode", "--model encoder --rollouts-dataset dataset --out-dir encoded"),
    (
        "train-sequence",
        "--model lstm --rollouts-dataset encoded --encoder encoder --model-dir sequence \
         --train-steps 4 --batch-size 2 --sequence-length 6",
    ),
];

pub(super) fn make_world_model(lab: &Lab) {
    for (stage, flags) in WORLD_MODEL {
        lab.succeed(stage, flags);
    }
}

/// A controller behind it.
pub(super) const CONTROLLER: &str = "--encoder encoder --sequence sequence \
    --environment CartPole-v1 --population 4 --trials 2 --max-steps 30 --evaluate-every 2 \
    --evaluation-episodes 2";

/// A training with `--plot`, in a process group of its own, as a shell starts one. It is killed with
/// its test.
pub(super) struct Watched<'a> {
    lab: &'a Lab,
    run: &'a str,
    process: Child,
    /// Its lines on the standard error.
    told: Receiver<String>,
    /// Where the page was served when it was last heard.
    address: Option<String>,
}

impl<'a> Watched<'a> {
    /// Starts a stage that trains in the directory `run`.
    pub(super) fn start(lab: &'a Lab, stage: &str, flags: &str, run: &'a str) -> Self {
        // A port that no other test takes meanwhile.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        Self::start_at(free.unwrap().port(), lab, stage, flags, run)
    }

    /// As [`start`](Self::start), with its page at that port.
    pub(super) fn start_at(
        port: u16,
        lab: &'a Lab,
        stage: &str,
        flags: &str,
        run: &'a str,
    ) -> Self {
        let view = format!("--plot --plot-speed 100 --plot-port {port}");
        let flags = format!("{flags} --model-dir {run} {view}");
        let mut command = lab.command(stage, &flags);
        command.env_remove("DISPLAY");
        command.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let mut process = command.spawn().unwrap();
        let (sender, told) = mpsc::channel();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        // It must not be kept waiting; and where nobody hears it any more, its standard error is closed.
        thread::spawn(move || lines.map(|line| sender.send(line)).find(Result::is_err));
        Self { lab, run, process, told, address: None }
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(super) fn is_over(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    /// What comes after `beginning` in its next line that begins so; nothing if it ends before.
    pub(super) fn hear(&mut self, beginning: &str) -> Option<String> {
        loop {
            match self.told.recv_timeout(LIMIT) {
                Ok(line) => {
                    assert!(!line.contains("panicked"), "{line}");
                    self.address = line.strip_prefix(AT).map(str::to_owned).or(self.address.take());
                    if let Some(rest) = line.strip_prefix(beginning) {
                        return Some(rest.to_owned());
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => return None,
                Err(late) => panic!("`{beginning}` was not told: {late}"),
            }
        }
    }

    /// Where the page is served, once it is.
    pub(super) fn url(&mut self) -> Option<String> {
        self.hear(AT)
    }

    /// Where it told last that the page is served, if it has so far.
    pub(super) fn address(&mut self) -> Option<String> {
        let told = self.told.try_iter().filter_map(|line| Some(line.strip_prefix(AT)?.to_owned()));
        told.last().or(self.address.take())
    }

    pub(super) fn threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.id())).map_or(0, Iterator::count)
    }

    /// Waits until `look` finds something; nothing if the training ends before.
    pub(super) fn until<T>(&mut self, look: impl Fn(&Self) -> Option<T>) -> Option<T> {
        let over = |training: &mut Self| training.is_over();
        let found = wait(|| match look(self) {
            None if over(self) => Some(None),
            found => found.map(Some),
        });
        found.expect("it takes too long")
    }

    /// Waits until the training has logged more.
    pub(super) fn advance(&mut self) -> Option<()> {
        let before = self.logged();
        self.until(|training| (training.logged() > before).then_some(()))
    }

    /// How long its metrics are.
    pub(super) fn logged(&self) -> u64 {
        fs::metadata(self.file("metrics.jsonl")).map_or(0, |file| file.len())
    }

    /// The last step that it logged; 0 if there is none.
    pub(super) fn step(&self) -> u64 {
        let metrics = fs::read_to_string(self.file("metrics.jsonl")).unwrap_or_default();
        let mut lines = metrics.lines().rev().filter_map(|line| serde_json::from_str(line).ok());
        lines.next().and_then(|line: Value| line["step"].as_u64()).unwrap_or(0)
    }

    /// Whether all is trained, and only the plotter is left to be closed.
    pub(super) fn is_complete(&self) -> bool {
        let manifest = fs::read(self.file("manifest.json")).unwrap_or_default();
        serde_json::from_slice(&manifest).is_ok_and(|json: Value| json["status"] == "complete")
    }

    /// A file of the run.
    pub(super) fn file(&self, name: &str) -> std::path::PathBuf {
        self.lab.path(self.run).join(name)
    }

    /// Its worker, if there is one but `not` that.
    pub(super) fn worker(&self, not: Option<u32>) -> Option<u32> {
        workers(self.lab).into_iter().find(|worker| Some(*worker) != not)
    }

    /// No more of what it says is read.
    pub(super) fn turn_away(&mut self) {
        self.told = mpsc::channel().1;
    }

    /// Waits until it ends.
    pub(super) fn wait(mut self) -> ExitStatus {
        let ended = wait(|| self.process.try_wait().unwrap());
        ended.expect("the training does not end")
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        // Only a test that fails leaves one that runs.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits until `look` finds something; nothing if that takes too long.
fn wait<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + LIMIT;
    loop {
        match look() {
            None if Instant::now() < deadline => thread::park_timeout(LOOK_AGAIN),
            found => return found,
        }
    }
}

/// Sends a signal to a process that may have ended.
pub(super) fn send(process: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(process as i32).unwrap(), signal);
}

/// The workers of plotters that were started in the lab.
pub(super) fn workers(lab: &Lab) -> Vec<u32> {
    let command = |id: &u32| fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let mut processes = processes(lab);
    processes.retain(|id| command(id).contains("plot-worker"));
    processes
}

/// The processes that were started in the lab, whatever they are.
fn processes(lab: &Lab) -> Vec<u32> {
    let directory = lab.path("").canonicalize().unwrap();
    let names = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let ids = names.filter_map(|name| name.parse().ok());
    ids.filter(|id| fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == directory))
        .collect()
}

/// Checks that no process is left in the lab. After a `kill -9` that may take a moment.
pub(super) fn assert_nobody_is_left(lab: &Lab) {
    let gone = wait(|| processes(lab).is_empty().then_some(()));
    assert!(gone.is_some(), "left: {:?}", processes(lab));
}

/// Checks that nobody serves a page there. The system closes the port of a killed process a moment
/// after that is gone.
pub(super) fn assert_not_served(url: &str) {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let closed = wait(|| TcpStream::connect(host).is_err().then_some(()));
    assert!(closed.is_some(), "{url} is served");
}

/// What a training left in its directory, whatever that is called.
pub(super) fn left(lab: &Lab, directory: &str) -> Vec<(String, Digest)> {
    let relative = |path: &Path| path.strip_prefix(directory).unwrap().display().to_string();
    lab.contents(directory).iter().map(|(path, digest)| (relative(path), digest.clone())).collect()
}

/// The names of all files in a run, but for TensorBoard's, which have times in them.
pub(super) fn names(lab: &Lab, run: &str) -> BTreeSet<String> {
    let run = lab.path(run);
    let files = lab.files();
    let names =
        files.iter().filter_map(|file| Some(file.strip_prefix(&run).ok()?.display().to_string()));
    names.filter(|name| !name.starts_with("events.")).collect()
}
