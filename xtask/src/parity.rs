//! `cargo xtask parity`: our CarRacing beside live Gymnasium, step by step.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use crate::{python, workspace};

/// Compare CarRacing with live Gymnasium over many seeds: rewards, ends and frames
///
/// Makes a Python environment with Gymnasium (300 MB) if it is not there. Ends with an error when a
/// bar is missed. The tests make the same comparison with recorded data, on a smaller scale.
#[derive(clap::Args)]
pub(crate) struct Parity {
    /// Passed on to the script crates/rl755-env/parity/car_racing.py
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

impl Parity {
    /// Builds our side, and runs both.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let interpreter = python::GYMNASIUM.ready()?;
        let ours = workspace::build_example("rl755-env", "car_racing_parity")?;
        let script = workspace::root().join("crates/rl755-env/parity/car_racing.py");
        compare(python::numeric(&interpreter), &script, &ours, &self.arguments)
    }
}

/// Runs `script` on our program; it shows what it finds.
fn compare(
    mut interpreter: Command,
    script: &Path,
    ours: &Path,
    arguments: &[String],
) -> anyhow::Result<ExitCode> {
    interpreter.arg(script).arg(ours).args(arguments);
    println!("$ {}", workspace::display(&interpreter));
    let status = workspace::status(&mut interpreter)?;
    Ok(match status.code() {
        Some(0) => ExitCode::SUCCESS,
        Some(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        None => ExitCode::FAILURE,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_missed_bar_is_the_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script.sh");
        fs::write(&script, r#"[ "$1" = program ] || exit 9; exit "$2""#).unwrap();
        for code in ["0", "1"] {
            let shell = Command::new("/bin/sh");
            let ended = compare(shell, &script, Path::new("program"), &[code.to_owned()]).unwrap();
            let expected = ExitCode::from(code.parse::<u8>().unwrap());
            assert_eq!(format!("{ended:?}"), format!("{expected:?}"));
        }
    }
}
