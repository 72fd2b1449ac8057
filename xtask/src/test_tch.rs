//! `cargo xtask test-tch`: that LibTorch computes what the default device computes.

use std::process::ExitCode;

use crate::{libtorch, workspace};

/// Run the tests that compare LibTorch with the default device
///
/// They need `cargo xtask setup --libtorch`, or LIBTORCH set to a LibTorch 2.9. Building takes about
/// ten minutes the first time.
#[derive(clap::Args)]
pub(crate) struct TestTch {}

impl TestTch {
    /// Runs the tests.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut command = workspace::cargo(&["test", "--release", "--package", "rl755-tests"]);
        command.args(["--features", "tch", "--test", "stages", "--target-dir"]);
        command.arg(libtorch::target_dir());
        command.envs(libtorch::environment()?);
        command.args(["--", "libtorch"]);
        workspace::run(&mut command)?;
        Ok(ExitCode::SUCCESS)
    }
}
