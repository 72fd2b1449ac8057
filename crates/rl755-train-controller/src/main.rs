//! Evolves a controller in the real environment.

use std::process::ExitCode;

use rl755_cli::{stage, stages::TrainController};

fn main() -> ExitCode {
    stage::<TrainController>()
}
