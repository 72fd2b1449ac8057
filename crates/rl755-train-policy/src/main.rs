//! Trains a policy by TRPO or PPO.

use std::process::ExitCode;

use rl755_cli::{stage, stages::TrainPolicy};

fn main() -> ExitCode {
    stage::<TrainPolicy>()
}
