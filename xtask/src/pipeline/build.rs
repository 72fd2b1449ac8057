//! `cargo xtask build`: the stages' programs, for those who run them one by one.

use std::process::ExitCode;

use super::{devices::Devices, programs::Programs};

/// Build the stages' programs into target/release, as the pipeline does
///
/// A plain `cargo build` gives the dependencies other features, and compiles burn once more.
#[derive(clap::Args)]
pub(crate) struct Build {
    /// Where models shall run: flex (the CPU), cuda or tch
    #[arg(long, default_value = "flex", value_name = "DEVICE")]
    device: Devices,
}

impl Build {
    /// Builds them.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let programs = Programs::build(&self.device)?;
        println!("the programs are in {}", programs.directory().display());
        Ok(ExitCode::SUCCESS)
    }
}
