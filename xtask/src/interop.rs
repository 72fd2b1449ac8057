//! `cargo xtask interop`: what TensorFlow reads in our files, beside what we wrote; weights to and from
//! PyTorch.

use std::{path::Path, process::ExitCode};

use anyhow::bail;

use crate::{python, workspace};

/// Compare what TensorFlow reads in rollouts of every layout with what was written, and take weights
/// to PyTorch and back
///
/// Makes Python environments with TensorFlow (1.5 GB) and PyTorch (5 GB) if they are not there. Shows every
/// sequence, and ends with an error if any differs. The tests of rl755-data read files that TensorFlow wrote.
#[derive(clap::Args)]
pub(crate) struct Interop {}

impl Interop {
    /// Builds our side, and runs both.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let interpreter = python::TENSORFLOW.ready()?;
        let ours = workspace::build_example("rl755-data", "write_layouts")?;
        let layouts = workspace::target_dir().join("interop");
        workspace::run(std::process::Command::new(ours).arg(&layouts))?;
        compare(&interpreter, &layouts)?;
        let script = workspace::root().join("xtask/src/interop_pytorch.py");
        workspace::run(python::numeric(&python::PYTORCH.ready()?).arg(script))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Runs the script that compares; it shows what it finds.
fn compare(interpreter: &Path, layouts: &Path) -> anyhow::Result<()> {
    let mut command = python::numeric(interpreter);
    // TensorFlow's remarks on the processor.
    command.env("TF_CPP_MIN_LOG_LEVEL", "2");
    command.arg(workspace::root().join("xtask/src/interop.py")).arg(layouts);
    println!("$ {}", workspace::display(&command));
    if !workspace::status(&mut command)?.success() {
        bail!("TensorFlow reads something else than was written");
    }
    Ok(())
}
