//! `cargo xtask golden`: makes the golden data of tests again.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use rl755_run::UnknownName;

use crate::{
    python::{self, PythonEnvironment},
    workspace,
};

/// Make golden data again, by the committed scripts that made it from the peers in Python
///
/// Needs `cargo xtask setup --python`, `--tensorflow` for what TensorFlow writes, and `--pytorch`
/// for what PyTorch gives. See with `git diff` what changed.
#[derive(clap::Args)]
pub(crate) struct Golden {
    /// The script's name without .py [default: all]
    name: Option<String>,
}

impl Golden {
    /// Runs the generators.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let generators = generators()?;
        let chosen: Vec<&PathBuf> = match &self.name {
            None => generators.iter().collect(),
            Some(name) => generators.iter().filter(|path| stem(path) == *name).collect(),
        };
        if chosen.is_empty() {
            let known = generators.iter().map(|path| stem(path)).collect();
            bail!(UnknownName::new("generator", &self.name.unwrap_or_default(), known));
        }
        for generator in chosen {
            let mut command = python::numeric(&environment(generator).ready()?);
            workspace::run(command.arg(generator))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Every `crates/*/tests/golden/*.py`.
fn generators() -> anyhow::Result<Vec<PathBuf>> {
    let mut generators = Vec::new();
    for package in fs::read_dir(workspace::root().join("crates"))? {
        let Ok(entries) = fs::read_dir(package?.path().join("tests/golden")) else { continue };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "py") {
                generators.push(path);
            }
        }
    }
    generators.sort();
    Ok(generators)
}

/// Where a generator runs: one called `…_by_tensorflow.py` needs TensorFlow, `…_by_pytorch.py`
/// PyTorch.
fn environment(generator: &Path) -> PythonEnvironment {
    match stem(generator) {
        name if name.ends_with("_by_tensorflow") => python::TENSORFLOW,
        name if name.ends_with("_by_pytorch") => python::PYTORCH,
        _ => python::GYMNASIUM,
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_generators_are_found() {
        let names: Vec<String> = generators().unwrap().iter().map(|path| stem(path)).collect();
        for name in ["cartpole", "rollouts_by_tensorflow", "vae_by_pytorch"] {
            assert!(names.contains(&name.to_owned()), "{names:?}");
        }
    }
}
