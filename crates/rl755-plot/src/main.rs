//! Shows runs on a page.

use std::process::ExitCode;

use rl755_cli::{stage, stages::Plot};

fn main() -> ExitCode {
    stage::<Plot>()
}
