//! Starting ours and TensorFlow's programs, and running their rounds.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, bail};
use serde::Deserialize;

use super::{Program, ROLLOUTS, STEPS, Speed, Task, machine};
use crate::{
    bench::contestant::{held_to, race},
    python, workspace,
};

/// Seconds that each works for before its rounds, so that caches and pipelines fill.
const WARM_UP: f64 = 1.0;

/// Where they are, and where the datasets are.
#[derive(Debug)]
pub(super) struct Programs {
    ours: PathBuf,
    peers: PathBuf,
    tensorflow: PathBuf,
    directory: PathBuf,
}

/// The size of the dataset that was made, its frames as PNG.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stored {
    pub(super) frames: u64,
    pub(super) bytes: u64,
}

/// The memory of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    /// Bytes, rollouts and frames of the dataset.
    pub(super) bytes: u64,
    pub(super) rollouts: u64,
    pub(super) frames: u64,
    /// The most bytes in memory in the first tenth of an epoch, ...
    pub(super) tenth: u64,
    /// ... and in all of it.
    pub(super) all: u64,
}

/// What is read of a `dataset.json`.
#[derive(Deserialize)]
struct Manifest {
    shards: Vec<Shard>,
}

#[derive(Deserialize)]
struct Shard {
    bytes: u64,
    lengths: Vec<u64>,
}

impl Programs {
    /// Installs TensorFlow where it is missing, and builds ours.
    pub(super) fn prepare() -> anyhow::Result<Self> {
        Ok(Self {
            tensorflow: python::TENSORFLOW.ready()?,
            ours: workspace::build_example("rl755-data", "data_speed")?,
            peers: workspace::root().join("xtask/src/bench/data/peers.py"),
            directory: workspace::target_dir().join("bench-data"),
        })
    }

    /// Makes the datasets anew, as this version of ours stores them.
    pub(super) fn make_datasets(&self) -> anyhow::Result<Stored> {
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut command = Command::new(&self.ours);
        command.arg("make").arg(&self.directory).args([ROLLOUTS, STEPS].map(|n| n.to_string()));
        workspace::run(&mut command)?;
        let manifest = fs::read(self.dataset("png").join("dataset.json"))?;
        let Manifest { shards } = serde_json::from_slice(&manifest)?;
        Ok(Stored {
            frames: shards.iter().flat_map(|shard| &shard.lengths).sum(),
            bytes: shards.iter().map(|shard| shard.bytes).sum(),
        })
    }

    /// The dataset whose frames are stored in this format.
    pub(super) fn dataset(&self, format: &str) -> PathBuf {
        self.directory.join(format)
    }

    /// Starts all programs of `task` on `cores`, and runs `rounds` of `seconds`, one program after
    /// another in each.
    pub(super) fn race(
        &self,
        task: Task,
        cores: usize,
        rounds: u32,
        seconds: f64,
    ) -> anyhow::Result<Vec<Speed>> {
        let programs = task.programs();
        let commands = programs.iter().map(|&program| self.command(task, program, cores));
        let all = race(commands.collect(), WARM_UP, rounds, seconds)?;
        let speed = |(&program, rounds)| Speed { program, cores, rounds };
        Ok(programs.iter().zip(all).map(speed).collect())
    }

    fn command(&self, task: Task, program: Program, cores: usize) -> Command {
        let held = machine::cores(cores);
        let (held, threads) = (held.as_deref(), cores.to_string());
        let dataset = self.dataset(task.dataset());
        match program {
            Program::Ours(job, _) => {
                let mut command = held_to(held, &self.ours);
                command.args(["rounds", job, &threads]);
                command.arg(if job == "collect" { self.dataset("collected") } else { dataset });
                command
            }
            Program::TensorFlow(variant, _) => {
                let mut command = held_to(held, &self.tensorflow);
                python::for_numbers(&mut command).arg(&self.peers);
                match task {
                    Task::Write => {
                        command.arg("write").arg(dataset).arg(self.dataset("written-tensorflow"))
                    }
                    Task::Verify => command.arg("verify").arg(dataset).arg(&threads),
                    _ => command.args(["sample", task.dataset(), variant]).arg(dataset),
                };
                command
            }
        }
    }

    /// What a reader of the dataset at `path` has in memory, over an epoch.
    pub(super) fn memory(&self, path: &Path) -> anyhow::Result<Memory> {
        let mut command = Command::new(&self.ours);
        command.arg("memory").arg(path).stderr(Stdio::inherit());
        let shown = workspace::display(&command);
        let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
        if !output.status.success() {
            bail!("`{shown}` failed: {}", output.status);
        }
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("`{shown}` said something else than its memory"))
    }
}
