//! Collects rollouts of an environment under a random policy.

use std::process::ExitCode;

use rl755_cli::{stage, stages::Collect};

fn main() -> ExitCode {
    stage::<Collect>()
}
