//! Packs rollouts into sharded TFRecords.

use std::process::ExitCode;

use rl755_cli::{stage, stages::Pack};

fn main() -> ExitCode {
    stage::<Pack>()
}
