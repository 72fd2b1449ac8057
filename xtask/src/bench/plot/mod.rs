//! `cargo xtask bench plot`: what a training that is watched costs.

mod browser;
mod section;
mod training;

use std::{process::ExitCode, thread};

use anyhow::bail;

use self::{section::Section, training::Measured};
use super::report;
use crate::{
    mujoco,
    pipeline::{devices::Devices, programs::Programs},
};

/// TRPO on Swimmer with --plot and its page open, beside the same training without
///
/// Needs MuJoCo's library (`cargo xtask setup --mujoco`) and Chromium. The same iterations are timed
/// in trainings that are run one after another, plotted and not, so that all meet the same machine;
/// ratios are taken within a round. Chromium draws without a display and on the processor, so it
/// is given the lowest priority, as on a machine that is at work; one row has it at the priority
/// that it chooses, and one shows what it takes without a plot. docs/benchmarks.md gets the table.
#[derive(clap::Args)]
pub(crate) struct PlotBench {
    /// Rounds of each training
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Iterations that are timed, of 5,000 steps
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1000))]
    iterations: u32,
    /// The browser
    #[arg(long, default_value = "chromium", value_name = "PROGRAM")]
    browser: String,
    /// Only with so many threads; docs/benchmarks.md is left as it is [default: 1, and all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// How a training is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watched {
    Not,
    /// The same, while a browser that gives way shows an empty page.
    EmptyPage,
    /// The page is open, in a browser that gives way.
    Page,
    /// The same, and the worker is stopped while the iterations are timed.
    WorkerStopped,
    /// The page is open, in a browser that chooses its priority.
    EagerBrowser,
}

impl Watched {
    const ALL: [Self; 5] =
        [Self::Not, Self::EmptyPage, Self::Page, Self::WorkerStopped, Self::EagerBrowser];

    /// Whether the training has a plotter.
    fn plots(self) -> bool {
        !matches!(self, Self::Not | Self::EmptyPage)
    }
}

impl PlotBench {
    /// Measures, prints the section, and writes it.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        if !mujoco::is_there() {
            bail!("Swimmer needs MuJoCo's library: cargo xtask setup --mujoco");
        }
        browser::check(&self.browser)?;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.map_or_else(|| vec![1, cores], |threads| vec![threads]);
        let programs = Programs::build(&Devices::cpu())?;
        let program = programs.directory().join("examples/trpo_swimmer");
        let mut section = Section::new(self.rounds, self.iterations, cores);
        for threads in threads {
            let mut rounds: Vec<(Watched, Vec<Measured>)> =
                Watched::ALL.map(|watched| (watched, Vec::new())).into();
            for round in 0..self.rounds {
                println!("round {} of {} with {threads} threads", round + 1, self.rounds);
                for (watched, measured) in &mut rounds {
                    let iterations = self.iterations;
                    measured.push(training::measure(
                        &program,
                        threads,
                        iterations,
                        *watched,
                        &self.browser,
                    )?);
                }
                // What comes first in a round would otherwise always do so.
                rounds.rotate_left(1);
            }
            rounds.sort_by_key(|(watched, _)| Watched::ALL.iter().position(|each| each == watched));
            section.add(threads, &rounds);
        }
        let text = section.text();
        println!("\n{text}");
        if self.threads.is_none() {
            report::write_section("The plotter", &text)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
