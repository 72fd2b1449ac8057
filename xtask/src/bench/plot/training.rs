//! A training that is timed between two of its iterations.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{Watched, browser::Browser};
use crate::{bench::machine::CpuTime, child, workspace};

/// Iterations before those that are timed: the browser takes its time to start.
const BEFORE: u32 = 40;

/// How often the training's metrics are looked at: within a thousandth of what is timed.
const LOOK: Duration = Duration::from_millis(5);

/// How long some iterations took, and how many cores were at work meanwhile, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) seconds: f64,
    pub(super) training: f64,
    pub(super) worker: f64,
    pub(super) browser: f64,
    /// For all other programs.
    pub(super) others: f64,
}

/// Trains with `program`, and times `iterations`.
pub(super) fn measure(
    program: &Path,
    threads: usize,
    iterations: u32,
    watched: Watched,
    browser: &str,
) -> anyhow::Result<Measured> {
    let directory = tempfile::tempdir()?;
    let mut training = Training::start(program, threads, watched, directory.path())?;
    let browser = if watched == Watched::Not {
        None
    } else {
        let url = training.url.as_deref().unwrap_or("about:blank");
        let gives_way = watched != Watched::EagerBrowser;
        Some(Browser::open(browser, gives_way, url, directory.path())?)
    };
    training.wait_for(BEFORE)?;
    let worker = if watched.plots() {
        Some(worker(training.child.id()).context("the plotter has no worker")?)
    } else {
        None
    };
    if let Some(worker) = worker.filter(|_| watched == Watched::WorkerStopped) {
        kill(Pid::from_raw(i32::try_from(worker)?), Signal::SIGSTOP)?;
    }
    let processes = [Some(training.child.id()), worker, browser.as_ref().map(Browser::id)];
    let times = || processes.map(|process| process.and_then(CpuTime::now));
    let (begin, begun) = (times(), Instant::now());
    training.wait_for(BEFORE + iterations)?;
    let (seconds, end) = (begun.elapsed().as_secs_f64(), times());
    let usages: Vec<_> = begin
        .into_iter()
        .zip(end)
        .map(|(begin, end)| Some(begin?.usage_until(end?, seconds)))
        .collect();
    let own = |index: usize| usages[index].map_or(0.0, |usage| usage.own);
    let (worker, browser) = (own(1), own(2));
    if matches!(watched, Watched::Page | Watched::EagerBrowser) && (worker == 0.0 || browser < 0.01)
    {
        bail!("the page did not draw: the worker used {worker:.2} cores, the browser {browser:.2}");
    }
    let others = usages[0].map_or(0.0, |usage| usage.others) - worker - browser;
    Ok(Measured { seconds, training: own(0), worker, browser, others: others.max(0.0) })
}

/// A running training; it ends when this is dropped.
struct Training {
    child: Child,
    metrics: PathBuf,
    /// Where its page is.
    url: Option<String>,
}

impl Training {
    fn start(
        program: &Path,
        threads: usize,
        watched: Watched,
        directory: &Path,
    ) -> anyhow::Result<Self> {
        let model_dir = directory.join("run");
        let mut command = Command::new(program);
        command.args(["--iterations", "1000000", "--threads", &threads.to_string()]);
        command.arg("--model-dir").arg(&model_dir);
        if watched.plots() {
            command.arg("--plot");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let shown = workspace::display(&command);
        let mut child = command.spawn().with_context(|| format!("cannot start `{shown}`"))?;
        let output = child.stderr.take().context("its errors are a pipe")?;
        let metrics = model_dir.join("metrics.jsonl");
        let mut training = Self { child, metrics, url: None };
        let mut lines = BufReader::new(output).lines();
        while watched.plots() && training.url.is_none() {
            let line = lines.next().with_context(|| format!("`{shown}` ended early"))??;
            training.url = line.strip_prefix("the plot is at ").map(str::to_owned);
        }
        // It must not be kept waiting by who reads no further.
        thread::spawn(move || lines.for_each(drop));
        Ok(training)
    }

    /// Waits for the end of an iteration.
    fn wait_for(&mut self, iteration: u32) -> anyhow::Result<()> {
        loop {
            let metrics = fs::read(&self.metrics).unwrap_or_default();
            let done = metrics.iter().filter(|byte| **byte == b'\n').count();
            if done >= iteration as usize {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the training {}", child::describe(status));
            }
            // Nothing says when a file grows that both Linux and the standard library have.
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        child::ask_to_stop(&self.child);
        let _ = self.child.wait();
    }
}

/// The child of a thread of `process` other than the first, which is the plotter's.
fn worker(process: u32) -> Option<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    threads.flatten().find_map(|thread| {
        let children = fs::read_to_string(thread.path().join("children")).ok()?;
        children.split_whitespace().next()?.parse().ok()
    })
}
