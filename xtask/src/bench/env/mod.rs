//! `cargo xtask bench env`: stepping environments, beside Gymnasium and EnvPool.

mod programs;
mod section;

use std::{process::ExitCode, thread};

use rl755_env::{EnvRegistry, Space};

use self::{programs::Programs, section::Section};
use super::{machine, rates::Rounds, report};
use crate::mujoco;

/// The environments that the bars are for.
const CAR_RACING: &str = "CarRacing-v3";
const SWIMMER: &str = "Swimmer-v5";

/// Steps per second of our environments beside Gymnasium's and EnvPool's, and memory
///
/// Makes its own Python environments, pinned, in the target directory (1.2 GB). Every program is
/// started once and steps in short rounds, one program after another, so that all meet the same
/// machine; ratios are taken within a round. docs/benchmarks.md gets the tables.
#[derive(clap::Args)]
pub(crate) struct EnvBench {
    /// An environment to measure, can be repeated; docs/benchmarks.md is left as it is [default: all
    /// that a peer has as well]
    #[arg(long = "env", value_name = "ID")]
    ids: Vec<String>,
    /// Rounds of each program
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a round [default: 4 for environments that return frames, 1 for others]
    #[arg(long, value_parser = super::positive)]
    seconds: Option<f64>,
}

/// Who steps an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Ours,
    EnvPool,
    Gymnasium,
}

/// How an environment is stepped.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plan {
    kind: Kind,
    /// Steps for which an action is held.
    hold: usize,
    /// Of a round.
    seconds: f64,
    /// On one core, or on two as well.
    most_cores: usize,
}

/// What a step mostly is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Drawing a frame.
    Frames,
    /// MuJoCo's work.
    Physics,
    /// Next to nothing.
    Short,
}

/// How fast one program was.
#[derive(Clone, Debug, PartialEq)]
struct Speed {
    who: Who,
    cores: usize,
    envs: usize,
    rounds: Rounds,
}

/// How much memory one environment took.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Memory {
    who: Who,
    envs: usize,
    bytes: u64,
}

impl EnvBench {
    /// Measures, prints the section, and writes it.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let registry = EnvRegistry::with_builtin();
        let all = self.ids.is_empty();
        let mut ids = self.ids;
        if all {
            ids = registry.ids();
            if mujoco::is_there() {
                ids.extend(rl755_env_mujoco::IDS.map(str::to_owned));
            } else {
                println!("MuJoCo's environments are left out: run `cargo xtask setup --mujoco`");
            }
        }
        let mut planned = Vec::new();
        for id in ids {
            planned.push((Plan::of(&registry, &id)?, id));
        }
        let programs = Programs::prepare()?;
        let mut section = Section::new(self.rounds);
        for (plan, id) in &planned {
            let race = programs.start(id, *plan)?;
            if all && !race.has_peer() {
                println!("{id}: no peer has it");
                continue;
            }
            let seconds = self.seconds.unwrap_or(plan.seconds);
            println!("{id}: {} rounds of {seconds} s", self.rounds);
            section.add_speeds(id, race.run(self.rounds, seconds)?);
            if id == CAR_RACING {
                println!("{CAR_RACING}: memory");
                section.add_memory(programs.memory(CAR_RACING)?);
            }
        }
        let text = section.text();
        println!("\n{text}");
        if all {
            report::write_section("Environments", &text)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Plan {
    fn of(registry: &EnvRegistry, id: &str) -> anyhow::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let name = id.split(':').next().unwrap_or(id);
        if rl755_env_mujoco::IDS.contains(&name) {
            return Ok(Self { kind: Kind::Physics, hold: 1, seconds: 1.0, most_cores: 1 });
        }
        if matches!(registry.make(id)?.spec().observation_space, Space::Image { .. }) {
            let most_cores = cores.min(2);
            return Ok(Self { kind: Kind::Frames, hold: 8, seconds: 4.0, most_cores });
        }
        // A step of these is so short that splitting it among threads slows all programs down.
        Ok(Self { kind: Kind::Short, hold: 1, seconds: 1.0, most_cores: 1 })
    }

    /// How many environments are stepped together: first as many as suit the program best on so
    /// many cores, then as many as are compared over cores.
    fn envs(self, who: Who, cores: usize) -> &'static [usize] {
        match (who, cores, self.kind) {
            (Who::Gymnasium, 1, _) => &[1],
            (Who::Gymnasium, _, _) => &[2],
            // One core steps few faster than many: EnvPool's by a fifth in CarRacing (one or two are
            // slower again), ours by a tenth.
            (Who::EnvPool, 1, Kind::Frames) => &[4],
            (Who::EnvPool, _, Kind::Frames) => &[32],
            (Who::Ours, 1, Kind::Frames) => &[1, 128],
            (Who::Ours, _, Kind::Frames) => &[128],
            (Who::Ours | Who::EnvPool, _, Kind::Physics) => &[1, 8],
            (Who::Ours | Who::EnvPool, _, Kind::Short) => &[256],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_with_frames_are_measured_on_two_cores_too() {
        let registry = EnvRegistry::with_builtin();
        let plan = |id: &str| Plan::of(&registry, id).unwrap();
        assert!(plan(CAR_RACING).most_cores <= 2 && plan(CAR_RACING).hold > 1);
        assert_eq!((plan("CartPole-v1").most_cores, plan("CartPole-v1").hold), (1, 1));
        let (one, two) = (plan(CAR_RACING).envs(Who::Ours, 1), plan(CAR_RACING).envs(Who::Ours, 2));
        assert_eq!(one.last(), two.last());
        let swimmer = plan("Swimmer-v5:frame_skip=1");
        assert_eq!(swimmer.envs(Who::Ours, 1), swimmer.envs(Who::EnvPool, 1));
    }
}
