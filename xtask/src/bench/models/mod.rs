//! `cargo xtask bench models`: models trained and encoding on the CPU, beside PyTorch.

mod flops;
mod programs;
mod section;

use std::{process::ExitCode, thread};

use self::{programs::Programs, section::Section};
use super::{machine, rates::Rounds, report};

/// Training and encoding beside PyTorch's, and beside the machine's rate of matrix products
///
/// Makes its own Python environment, pinned, in the target directory (5 GB). Every program is
/// started once and works in short rounds, one program after another, so that all meet the same
/// machine; ratios are taken within a round. docs/benchmarks.md gets the tables. PyTorch's threads
/// wait for one another without sleeping: with other work on the machine, figures of two cores
/// are worth nothing.
#[derive(clap::Args)]
pub(crate) struct ModelsBench {
    /// Rounds of each program
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a round
    #[arg(long, default_value_t = 2.0, value_parser = super::positive)]
    seconds: f64,
    /// Only this, can be repeated; docs/benchmarks.md is left as it is [default: all]
    #[arg(long = "only", value_name = "WHAT")]
    only: Vec<Task>,
    /// Only on so many cores; docs/benchmarks.md is left as it is [default: on one and on two]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=2))]
    cores: Option<u8>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Task {
    /// Training steps of vae-64 with 64 frames.
    TrainVae64,
    /// Encoding single frames with vae-64.
    #[value(name = "encode-1")]
    Encode1,
    /// Encoding 64 frames at a time with vae-64.
    #[value(name = "encode-64")]
    Encode64,
    /// Training steps of the transformer with 32 sequences of 32 steps.
    TrainTransformer,
    /// Training steps of the MDN-RNN with 32 sequences of 32 steps.
    TrainMdnRnn,
}

/// A contestant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Ours,
    /// PyTorch with images in this layout.
    PyTorch(&'static str),
    /// Large matrix products, as ours computes them.
    MatrixProduct,
}

/// How fast a program was: frames per second, or operations for matrix products.
#[derive(Clone, Debug, PartialEq)]
struct Speed {
    program: Program,
    cores: usize,
    rounds: Rounds,
}

impl Task {
    const ALL: [Self; 5] = [
        Self::TrainVae64,
        Self::Encode64,
        Self::Encode1,
        Self::TrainTransformer,
        Self::TrainMdnRnn,
    ];

    /// The name of the job, in ours and in PyTorch's program.
    fn job(self) -> &'static str {
        match self {
            Self::TrainVae64 => "train-vae-64",
            Self::Encode1 => "encode-1",
            Self::Encode64 => "encode-64",
            Self::TrainTransformer => "train-transformer",
            Self::TrainMdnRnn => "train-mdn-rnn",
        }
    }

    /// In the tables.
    fn title(self) -> &'static str {
        match self {
            Self::TrainVae64 => "train vae-64",
            Self::Encode1 => "encode 1",
            Self::Encode64 => "encode 64",
            Self::TrainTransformer => "train transformer",
            Self::TrainMdnRnn => "train mdn-rnn",
        }
    }

    /// Frames of a step, or of a batch that is encoded.
    fn frames(self) -> u64 {
        match self {
            Self::TrainVae64 | Self::Encode64 => 64,
            Self::Encode1 => 1,
            Self::TrainTransformer | Self::TrainMdnRnn => 32 * 32,
        }
    }

    /// Operations for a frame.
    fn flops(self) -> u64 {
        match self {
            Self::TrainVae64 => flops::VAE.trained(),
            Self::Encode1 | Self::Encode64 => flops::VAE_ENCODER.forward,
            Self::TrainTransformer => flops::TRANSFORMER.trained(),
            Self::TrainMdnRnn => flops::MDN_RNN.trained(),
        }
    }

    /// How many times as fast as PyTorch it must be.
    fn least(self) -> f64 {
        match self {
            Self::TrainVae64 => 1.3,
            Self::Encode64 => 1.1,
            Self::Encode1 => 2.0,
            Self::TrainTransformer | Self::TrainMdnRnn => 1.0,
        }
    }

    /// Ours, the peers, and what the machine can do.
    fn programs(self) -> &'static [Program] {
        use Program::{MatrixProduct, Ours, PyTorch};
        match self {
            Self::TrainVae64 | Self::Encode1 | Self::Encode64 => {
                &[Ours, PyTorch("contiguous"), PyTorch("channels-last"), MatrixProduct]
            }
            Self::TrainTransformer | Self::TrainMdnRnn => {
                &[Ours, PyTorch("contiguous"), MatrixProduct]
            }
        }
    }
}

impl ModelsBench {
    /// Measures, prints the section, and writes it.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let all = self.only.is_empty() && self.cores.is_none();
        let tasks = if self.only.is_empty() { Task::ALL.to_vec() } else { self.only.clone() };
        let available = thread::available_parallelism().map_or(1, usize::from);
        let cores = match self.cores {
            Some(cores) => vec![usize::from(cores)],
            None => (1..=available.min(2)).collect(),
        };
        let programs = Programs::prepare()?;
        let mut section = Section::new(self.rounds, programs.parameters()?);
        for task in tasks {
            for &cores in &cores {
                println!("{}, {cores} cores", task.title());
                section.add_speeds(task, &programs.race(task, cores, self.rounds, self.seconds)?);
            }
        }
        let text = section.text();
        println!("\n{text}");
        if all {
            report::write_section("Models", &text)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
