//! Finds corrupted records in sharded TFRecords.

use std::process::ExitCode;

use rl755_cli::{stage, stages::Verify};

fn main() -> ExitCode {
    stage::<Verify>()
}
