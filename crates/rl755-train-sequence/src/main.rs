//! Trains a sequence model on latents and actions.

use std::process::ExitCode;

use rl755_cli::{stage, stages::TrainSequence};

fn main() -> ExitCode {
    stage::<TrainSequence>()
}
