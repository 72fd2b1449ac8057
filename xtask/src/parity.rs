//! `cargo xtask parity`: our environments beside live Gymnasium, step by step.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::bail;

use crate::{mujoco, python, workspace};

/// Compare environments with live Gymnasium over many seeds: CarRacing's rewards, ends and frames,
/// or every bit of MuJoCo's
///
/// Makes a Python environment with Gymnasium (400 MB) if it is not there. Ends with an error when a
/// bar is missed. The tests make the same comparison with recorded data, on a smaller scale.
#[derive(clap::Args)]
pub(crate) struct Parity {
    /// Which environments
    #[arg(value_enum, default_value_t)]
    which: Which,
    /// Passed on to crates/rl755-env/parity/car_racing.py or
    /// crates/rl755-env-mujoco/parity/beside_gymnasium.py; `-- --help` lists what they take
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Which {
    /// CarRacing-v3
    #[default]
    CarRacing,
    /// The ten of MuJoCo, whose library is needed: `cargo xtask setup --mujoco`
    Mujoco,
}

impl Parity {
    /// Builds our side, and runs both.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let (ours, script) = match self.which {
            Which::CarRacing => (
                workspace::build_example("rl755-env", "car_racing_parity")?,
                "crates/rl755-env/parity/car_racing.py",
            ),
            Which::Mujoco if !mujoco::is_there() => {
                bail!("MuJoCo's library is needed: run `cargo xtask setup --mujoco` first")
            }
            Which::Mujoco => (
                mujoco::build_example("mujoco_parity")?,
                "crates/rl755-env-mujoco/parity/beside_gymnasium.py",
            ),
        };
        let mut interpreter = python::numeric(&python::GYMNASIUM.ready()?);
        // MuJoCo's Python package writes its warnings to a file in the working directory.
        interpreter.current_dir(workspace::target_dir());
        compare(interpreter, &workspace::root().join(script), &ours, &self.arguments)
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
