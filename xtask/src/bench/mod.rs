//! `cargo xtask bench`: how fast rl755 is, beside its peers.
//!
//! A subcommand for each thing that is measured, in a file of its own. Each prints a section of
//! `docs/benchmarks.md` and replaces it there.

mod contestant;
mod env;
mod machine;
mod rates;
mod report;

use std::process::ExitCode;

/// Measure rl755 beside its peers, run in the same minute on the same cores
#[derive(clap::Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Env(env::EnvBench),
}

impl Bench {
    /// Measures what was asked for.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.what {
            What::Env(bench) => bench.run(),
        }
    }
}
