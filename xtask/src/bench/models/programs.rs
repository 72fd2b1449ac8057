//! Starting ours and PyTorch's programs, and running their rounds.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, bail};

use super::{Program, Speed, Task, machine};
use crate::{
    bench::contestant::{held_to, race},
    python, workspace,
};

/// Seconds that each works for before its rounds, so that memory is at hand and threads run.
const WARM_UP: f64 = 1.0;

/// Where they are.
#[derive(Debug)]
pub(super) struct Programs {
    ours: PathBuf,
    peers: PathBuf,
    pytorch: PathBuf,
}

impl Programs {
    /// Installs PyTorch where it is missing, and builds ours.
    pub(super) fn prepare() -> anyhow::Result<Self> {
        Ok(Self {
            pytorch: python::PYTORCH.ready()?,
            ours: workspace::build_example_with_burn("model_speed")?,
            peers: workspace::root().join("xtask/src/bench/models/peers.py"),
        })
    }

    /// A table of the parameters of our models.
    pub(super) fn parameters(&self) -> anyhow::Result<String> {
        let mut command = Command::new(&self.ours);
        command.arg("parameters").stderr(Stdio::inherit());
        let shown = workspace::display(&command);
        let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
        if !output.status.success() {
            bail!("`{shown}` failed: {}", output.status);
        }
        Ok(String::from_utf8(output.stdout)?)
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
        match program {
            Program::Ours | Program::MatrixProduct => {
                let mut command = held_to(held, &self.ours);
                let job = if program == Program::Ours { task.job() } else { "matrix-product" };
                command.args(["rounds", job, &threads]);
                command
            }
            Program::PyTorch(layout) => {
                let mut command = held_to(held, &self.pytorch);
                python::for_numbers(&mut command).env("OMP_NUM_THREADS", &threads);
                command.arg(&self.peers).args([task.job(), &threads, layout]);
                command
            }
        }
    }
}
