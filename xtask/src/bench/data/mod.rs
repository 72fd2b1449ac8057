//! `cargo xtask bench data`: rollouts written, verified and sampled, beside TensorFlow.

mod programs;
mod section;

use std::{path::PathBuf, process::ExitCode};

use self::{programs::Programs, section::Section};
use super::{machine, rates::Rounds, report};

/// Rollouts that are collected to be verified and sampled, and steps of each: more than a
/// processor's caches hold.
const ROLLOUTS: u32 = 200;
const STEPS: u32 = 1000;
/// Seconds of a round.
const SECONDS: f64 = 2.0;

/// Frames or bytes per second of our datasets beside TensorFlow's, and the memory of a reader
///
/// Makes its own Python environment, pinned, and its datasets in the target directory (3 GB). Every
/// program is started once and works in short rounds, one program after another, so that all meet
/// the same machine; ratios are taken within a round. docs/benchmarks.md gets the tables.
#[derive(clap::Args)]
pub(crate) struct DataBench {
    /// Rounds of each program
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a round
    #[arg(long, default_value_t = SECONDS, value_parser = super::positive)]
    seconds: f64,
    /// A large dataset to measure the memory of a reader with, such as 10,000 rollouts of 1,000
    /// frames [default: the one that is made, too small to tell]
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,
    /// Only this, can be repeated; docs/benchmarks.md is left as it is [default: all]
    #[arg(long = "only", value_name = "WHAT")]
    only: Vec<Task>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Task {
    /// Frames that are in memory become rollouts on disk.
    Write,
    /// All records are checked, from the page cache.
    Verify,
    /// Random frames of PNG rollouts, decoded, as floats in [0, 1].
    SamplePng,
    /// The same of frames stored as they are.
    SampleTensor,
    /// CarRacing is stepped, and its rollouts are kept or not.
    Collect,
    /// The memory of a reader.
    Memory,
}

/// What a program does for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    /// Ours, with the job's name and what it is called in the table.
    Ours(&'static str, &'static str),
    /// TensorFlow, with its mode and variant and what it is called in the table.
    TensorFlow(&'static str, &'static str),
}

/// How fast a program was.
#[derive(Clone, Debug, PartialEq)]
struct Speed {
    program: Program,
    cores: usize,
    rounds: Rounds,
}

impl Task {
    const ALL: [Self; 6] = [
        Self::Write,
        Self::Verify,
        Self::SamplePng,
        Self::SampleTensor,
        Self::Collect,
        Self::Memory,
    ];

    /// The programs that are compared, the one that the others are set against first.
    fn programs(self) -> &'static [Program] {
        use Program::{Ours, TensorFlow};
        match self {
            Self::Write => &[
                Ours("write-png", "rl755, PNG"),
                Ours("write-tensor", "rl755, tensor"),
                TensorFlow("write", "TensorFlow, tensor"),
            ],
            Self::Verify => &[
                Ours("verify", "rl755"),
                Ours("read", "reading alone"),
                TensorFlow("verify", "TensorFlow, framing alone"),
            ],
            Self::SamplePng | Self::SampleTensor => &[
                Ours("sample", "rl755"),
                TensorFlow("unbatch", "TensorFlow, as the original"),
                TensorFlow("rollout", "TensorFlow, a rollout a batch"),
                TensorFlow("interleave", "TensorFlow, frame by frame"),
            ],
            Self::Collect => &[Ours("collect", "collect, PNG"), Ours("step", "stepping alone")],
            Self::Memory => &[],
        }
    }

    /// On how many cores.
    fn cores(self) -> &'static [usize] {
        match self {
            Self::Write => &[1],
            Self::Verify | Self::Collect => &[1, 2],
            Self::SamplePng | Self::SampleTensor => &[2],
            Self::Memory => &[],
        }
    }

    /// In the tables.
    fn title(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Verify => "verify",
            Self::SamplePng => "sample PNG frames",
            Self::SampleTensor => "sample tensor frames",
            Self::Collect => "collect CarRacing",
            Self::Memory => "memory",
        }
    }

    /// The dataset that it reads.
    fn dataset(self) -> &'static str {
        if self == Self::SampleTensor { "tensor" } else { "png" }
    }
}

impl DataBench {
    /// Measures, prints the section, and writes it.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let all = self.only.is_empty();
        let tasks = if all { Task::ALL.to_vec() } else { self.only.clone() };
        let programs = Programs::prepare()?;
        let stored = programs.make_datasets()?;
        let mut section = Section::new(self.rounds, stored);
        for task in tasks {
            println!("{}", task.title());
            if task == Task::Memory {
                let dataset = self.dataset.clone().unwrap_or_else(|| programs.dataset("png"));
                section.add_memory(programs.memory(&dataset)?);
                continue;
            }
            for &cores in task.cores() {
                let speeds = programs.race(task, cores, self.rounds, self.seconds)?;
                section.add_speeds(task, &speeds);
            }
        }
        let text = section.text();
        println!("\n{text}");
        if all {
            report::write_section("Datasets", &text)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
