//! `cargo xtask bench`: how fast rl755 is, beside its peers.
//!
//! A subcommand for each thing that is measured, in a file of its own. Each prints a section of
//! `docs/benchmarks.md` and replaces it there.

mod contestant;
mod data;
mod env;
mod machine;
mod models;
mod plot;
mod rates;
mod report;

use std::process::ExitCode;

use anyhow::bail;

/// Measure rl755 beside its peers, run in the same minute on the same cores
#[derive(clap::Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Env(env::EnvBench),
    Data(data::DataBench),
    Models(models::ModelsBench),
    Plot(plot::PlotBench),
}

impl Bench {
    /// Measures what was asked for.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.what {
            What::Env(bench) => bench.run(),
            What::Data(bench) => bench.run(),
            What::Models(bench) => bench.run(),
            What::Plot(bench) => bench.run(),
        }
    }
}

/// The seconds of a round, from the command line.
fn positive(text: &str) -> anyhow::Result<f64> {
    let value: f64 = text.parse()?;
    if !(value > 0.0 && value.is_finite()) {
        bail!("a round takes more than 0 seconds");
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_take_more_than_no_time() {
        assert_eq!(positive("0.5").unwrap(), 0.5);
        for text in ["0", "-1", "NaN", "inf", "x"] {
            assert!(positive(text).is_err(), "{text}");
        }
    }
}
