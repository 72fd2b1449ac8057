//! All stages in one program, which the tests run as processes.

use std::process::ExitCode;

fn main() -> ExitCode {
    rl755_cli::run(|_| {})
}
