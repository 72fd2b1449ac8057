//! Stages that serve the page, as processes.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
};

use serde_json::Value;

use crate::{chromium::LIMIT, lab::Lab};

/// A policy for a body in three dimensions, trained for longer than a test takes; one thread leaves a processor
/// to the browser.
pub(crate) const SWIMMER: &str = "--environment Swimmer-v5 --batch-size 2000 --discount 0.999 \
    --threads 1 --iterations 20000 --model-dir run --plot";

/// A stage that serves a page. It is killed with its test.
pub(crate) struct Served {
    pub(crate) url: String,
    process: Child,
}

impl Served {
    /// Starts a stage, and waits until it says where the page is.
    pub(crate) fn start(lab: &Lab, stage: &str, flags: &str) -> Self {
        let mut command = lab.command(stage, flags);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        // Trainings tell it on one, and what only serves on the other.
        let (stdout, stderr) = (process.stdout.take().unwrap(), process.stderr.take().unwrap());
        let pipes: [Box<dyn Read + Send>; 2] = [Box::new(stdout), Box::new(stderr)];
        for pipe in pipes {
            let sender = sender.clone();
            // They are read to their end, whoever listens: it must not be kept waiting.
            thread::spawn(move || {
                BufReader::new(pipe).lines().map_while(Result::ok).for_each(|line| {
                    let _ = sender.send(line);
                });
            });
        }
        drop(sender);
        let mut served = Self { url: String::new(), process };
        let mut told = Vec::new();
        while served.url.is_empty() {
            let Ok(line) = lines.recv_timeout(LIMIT) else {
                panic!("{stage} {flags} serves no page:\n{}", told.join("\n"));
            };
            if let Some(url) = line.strip_prefix("the plot is at ") {
                served.url = url.to_owned();
            }
            told.push(line);
        }
        served
    }

    /// The process that serves the page of a training.
    pub(crate) fn worker(&self) -> Option<u32> {
        let parent = format!("PPid:\t{}\n", self.process.id());
        fs::read_dir("/proc").unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            let status = fs::read_to_string(path.join("status")).ok()?;
            let command = fs::read_to_string(path.join("cmdline")).ok()?;
            let is_worker = status.contains(&parent) && command.contains("plot-worker");
            is_worker.then(|| path.file_name()?.to_str()?.parse().ok()).flatten()
        })
    }

    pub(crate) fn kill_worker(&self) -> u32 {
        let worker = self.worker().expect("a training that plots has a worker");
        let killed = Command::new("kill").args(["-KILL", &worker.to_string()]).status();
        assert!(killed.unwrap().success());
        worker
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a run has logged of a metric until now.
pub(crate) fn logged(lab: &Lab, run: &str, metric: &str) -> Vec<f64> {
    let text = fs::read_to_string(lab.path(run).join("metrics.jsonl")).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line.get(metric)?.as_f64()).collect()
}
