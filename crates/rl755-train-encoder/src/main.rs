//! Trains an observation encoder on single frames.

use std::process::ExitCode;

use rl755_cli::{stage, stages::TrainEncoder};

fn main() -> ExitCode {
    stage::<TrainEncoder>()
}
