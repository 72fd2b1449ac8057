//! Starting ours and the peers' programs, and running their rounds.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, bail};
use serde::Deserialize;

use super::{Memory, Plan, Speed, Who, machine};
use crate::{
    bench::{
        contestant::{Contestant, held_to},
        rates::Rounds,
    },
    mujoco, python, workspace,
};

/// Seconds that each steps for before its rounds, so that caches and clocks settle.
const WARM_UP: f64 = 0.5;

/// Where they are.
#[derive(Debug)]
pub(super) struct Programs {
    ours: PathBuf,
    peers: PathBuf,
    gymnasium: PathBuf,
    envpool: PathBuf,
}

/// Programs that wait for their rounds.
#[derive(Debug)]
pub(super) struct Race {
    running: Vec<(Contestant, Speed)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryAnswer {
    /// None where the peer does not have the environment.
    bytes: Option<u64>,
}

impl Programs {
    /// Installs the peers where they are missing, and builds ours.
    pub(super) fn prepare() -> anyhow::Result<Self> {
        Ok(Self {
            gymnasium: python::GYMNASIUM.ready()?,
            envpool: python::ENVPOOL.ready()?,
            ours: mujoco::build_example("env_speed")?,
            peers: workspace::root().join("xtask/src/bench/env/peers.py"),
        })
    }

    /// Starts all programs that have the environment `id`, on one core and on more.
    pub(super) fn start(&self, id: &str, plan: Plan) -> anyhow::Result<Race> {
        let mut running = Vec::new();
        for cores in 1..=plan.most_cores {
            for who in [Who::Ours, Who::EnvPool, Who::Gymnasium] {
                // The options behind our ids mean nothing to the peers.
                if who != Who::Ours && id.contains(':') {
                    continue;
                }
                for &envs in plan.envs(who, cores) {
                    let held = machine::cores(cores);
                    let mut command = self.command(who, "rounds", id, held.as_deref());
                    command.args([envs, cores, plan.hold].map(|number| number.to_string()));
                    if let Some(contestant) = Contestant::start(command)? {
                        let speed = Speed { who, cores, envs, rounds: Rounds::default() };
                        running.push((contestant, speed));
                    }
                }
            }
        }
        Ok(Race { running })
    }

    /// What an environment of each program adds to its process.
    pub(super) fn memory(&self, id: &str) -> anyhow::Result<Vec<Memory>> {
        let mut memory = Vec::new();
        // The slower the program, the fewer.
        for (who, envs) in [(Who::Ours, 200), (Who::EnvPool, 50), (Who::Gymnasium, 10)] {
            let mut command = self.command(who, "memory", id, None);
            command.arg(envs.to_string()).stderr(Stdio::inherit());
            let shown = workspace::display(&command);
            let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
            if !output.status.success() {
                bail!("`{shown}` failed: {}", output.status);
            }
            let answer: MemoryAnswer = serde_json::from_slice(&output.stdout)
                .with_context(|| format!("`{shown}` said something else than its memory"))?;
            memory.extend(answer.bytes.map(|bytes| Memory { who, envs, bytes }));
        }
        Ok(memory)
    }

    fn command(&self, who: Who, mode: &str, id: &str, cores: Option<&[usize]>) -> Command {
        let (interpreter, peer) = match who {
            Who::Ours => {
                let mut command = held_to(cores, &self.ours);
                command.args([mode, id]);
                return command;
            }
            Who::EnvPool => (&self.envpool, "envpool"),
            Who::Gymnasium => (&self.gymnasium, "gymnasium"),
        };
        let mut command = held_to(cores, interpreter);
        python::for_numbers(&mut command).arg(&self.peers).args([mode, peer, id]);
        // MuJoCo's Python package writes its warnings to a file in the working directory.
        command.current_dir(workspace::target_dir());
        command
    }
}

impl Race {
    /// Whether there is anything to compare ours with.
    pub(super) fn has_peer(&self) -> bool {
        self.running.iter().any(|(_, speed)| speed.who != Who::Ours)
    }

    /// Runs `rounds` of `seconds`, one program after another in each.
    pub(super) fn run(mut self, rounds: u32, seconds: f64) -> anyhow::Result<Vec<Speed>> {
        for (contestant, _) in &mut self.running {
            contestant.round(WARM_UP)?;
        }
        for _ in 0..rounds {
            for (contestant, speed) in &mut self.running {
                speed.rounds.0.push(contestant.round(seconds)?);
            }
        }
        Ok(self.running.into_iter().map(|(_, speed)| speed).collect())
    }
}
