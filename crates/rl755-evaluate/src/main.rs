//! Scores a controller or a policy over many episodes.

use std::process::ExitCode;

use rl755_cli::{stage, stages::Evaluate};

fn main() -> ExitCode {
    stage::<Evaluate>()
}
