//! `cargo xtask bench env`: stepping environments, beside Gymnasium and EnvPool.

mod programs;
mod section;

use std::{process::ExitCode, thread};

use rl755_env::{EnvRegistry, EnvSpec, Space};

use self::{programs::Programs, section::Section};
use super::{machine, rates::Rounds, report};

/// The environment that the bars are for.
const BARRED: &str = "CarRacing-v3";

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
    /// Whether frames are observed.
    frames: bool,
    /// Steps for which an action is held.
    hold: usize,
    /// Of a round.
    seconds: f64,
    /// On one core, or on two as well.
    most_cores: usize,
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
        let ids = if all { registry.ids() } else { self.ids.clone() };
        let mut specs = Vec::new();
        for id in &ids {
            specs.push(registry.make(id)?.spec().clone());
        }
        let programs = Programs::prepare()?;
        let mut section = Section::new(self.rounds);
        for spec in &specs {
            let plan = Plan::of(spec);
            let race = programs.start(&spec.id, plan)?;
            if all && !race.has_peer() {
                println!("{}: no peer has it", spec.id);
                continue;
            }
            let seconds = self.seconds.unwrap_or(plan.seconds);
            println!("{}: {} rounds of {seconds} s", spec.id, self.rounds);
            section.add_speeds(&spec.id, race.run(self.rounds, seconds)?);
            if spec.id == BARRED {
                println!("{BARRED}: memory");
                section.add_memory(programs.memory(BARRED)?);
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
    fn of(spec: &EnvSpec) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        if matches!(spec.observation_space, Space::Image { .. }) {
            return Self { frames: true, hold: 8, seconds: 4.0, most_cores: cores.min(2) };
        }
        // A step of these is so short that splitting it among threads slows all programs down.
        Self { frames: false, hold: 1, seconds: 1.0, most_cores: 1 }
    }

    /// How many environments are stepped together: first as many as suit the program best on so
    /// many cores, then as many as are compared over cores.
    fn envs(self, who: Who, cores: usize) -> &'static [usize] {
        match (who, cores) {
            (Who::Gymnasium, 1) => &[1],
            (Who::Gymnasium, _) => &[2],
            // One core steps few faster than many: EnvPool's by a fifth in CarRacing (one or two are
            // slower again), ours by a tenth.
            (Who::EnvPool, 1) if self.frames => &[4],
            (Who::EnvPool, _) if self.frames => &[32],
            (Who::Ours, 1) if self.frames => &[1, 128],
            (Who::Ours, _) if self.frames => &[128],
            (Who::Ours | Who::EnvPool, _) => &[256],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_with_frames_are_measured_on_two_cores_too() {
        let registry = EnvRegistry::with_builtin();
        let plan = |id: &str| Plan::of(registry.make(id).unwrap().spec());
        assert!(plan(BARRED).most_cores <= 2 && plan(BARRED).hold > 1);
        assert_eq!((plan("CartPole-v1").most_cores, plan("CartPole-v1").hold), (1, 1));
        let (one, two) = (plan(BARRED).envs(Who::Ours, 1), plan(BARRED).envs(Who::Ours, 2));
        assert_eq!(one.last(), two.last());
    }
}
