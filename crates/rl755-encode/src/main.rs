//! Turns rollouts of frames into rollouts of latents.

use std::process::ExitCode;

use rl755_cli::{stage, stages::Encode};

fn main() -> ExitCode {
    stage::<Encode>()
}
