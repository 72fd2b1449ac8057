//! Starting ours and PyTorch's programs, and running their rounds.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, bail};

use super::{Program, Speed, Task, machine};
use crate::{
    bench::{
        contestant::{Contestant, held_to},
        rates::Rounds,
    },
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
        let mut running = Vec::new();
        for &program in task.programs() {
            let command = self.command(task, program, cores);
            let shown = workspace::display(&command);
            let contestant = Contestant::start(command)?;
            let contestant = contestant.with_context(|| format!("`{shown}` is not ready"))?;
            running.push((contestant, Speed { program, cores, rounds: Rounds::default() }));
        }
        for (contestant, _) in &mut running {
            contestant.round(WARM_UP)?;
        }
        for _ in 0..rounds {
            for (contestant, speed) in &mut running {
                speed.rounds.0.push(contestant.round(seconds)?);
            }
        }
        Ok(running.into_iter().map(|(_, speed)| speed).collect())
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
