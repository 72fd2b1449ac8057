//! Python environments with our peers, each in the target directory and with pinned packages.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::workspace;

/// A virtual environment that is made when it is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PythonEnvironment {
    /// Its directory's name.
    name: &'static str,
    /// What pip is asked for.
    packages: &'static [&'static str],
}

/// Gymnasium with its drawing, resizing and MuJoCo, and the CMA-ES that ours is compared with.
pub(crate) const GYMNASIUM: PythonEnvironment = PythonEnvironment {
    name: "rl",
    packages: &[
        "gymnasium==1.4.0",
        "box2d==2.3.10",
        "pygame==2.6.1",
        "opencv-python-headless==4.13.0.92",
        "numpy==2.4.6",
        "cma==4.5.0",
        // The version of our library; there are newer ones. The other two Gymnasium imports.
        "mujoco==3.17.0",
        "imageio==2.38.1",
        "packaging==26.4",
    ],
};

/// EnvPool. On its own, as its requirements must not change the environment that golden data are
/// made in.
pub(crate) const ENVPOOL: PythonEnvironment =
    PythonEnvironment { name: "envpool", packages: &["envpool==1.2.5", "gymnasium==1.4.0"] };

/// TensorFlow. On its own: it wants another NumPy.
pub(crate) const TENSORFLOW: PythonEnvironment =
    PythonEnvironment { name: "tf", packages: &["tensorflow-cpu==2.21.0"] };

/// PyTorch. On its own, for its size: 5 GB, most of them libraries for GPUs that its package asks
/// for.
pub(crate) const PYTORCH: PythonEnvironment = PythonEnvironment {
    name: "torch",
    packages: &["torch==2.13.0", "numpy==2.4.6", "safetensors==0.7.0"],
};

impl PythonEnvironment {
    /// The version that `package` is pinned to.
    pub(crate) fn version(&self, package: &str) -> &'static str {
        let pins = self.packages.iter().filter_map(|pin| pin.split_once("=="));
        pins.filter(|(name, _)| *name == package).map(|(_, version)| version).next().unwrap_or("?")
    }

    fn directory(&self) -> PathBuf {
        workspace::target_dir().join("python").join(self.name)
    }

    fn python(&self) -> PathBuf {
        self.directory().join("bin/python")
    }

    /// Says which packages the environment was last brought up to date with.
    fn stamp(&self) -> PathBuf {
        self.directory().join("packages.txt")
    }

    /// Makes it, or brings it up to date.
    pub(crate) fn install(&self) -> anyhow::Result<()> {
        let python = self.python();
        if !python.exists() {
            let mut command = Command::new("python3");
            workspace::run(command.args(["-m", "venv"]).arg(self.directory()))?;
        }
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "install", "--disable-pip-version-check"]).args(self.packages);
        workspace::run(&mut command)?;
        fs::write(self.stamp(), self.packages.join("\n"))?;
        Ok(())
    }

    /// Its interpreter, after making it if it is not there with these packages. Needs no network
    /// when it is.
    pub(crate) fn ready(&self) -> anyhow::Result<PathBuf> {
        let installed = fs::read_to_string(self.stamp()).unwrap_or_default();
        if installed != self.packages.join("\n") || !self.python().exists() {
            self.install()?;
        }
        Ok(self.python())
    }
}

/// `python`, to compute with.
pub(crate) fn numeric(python: &Path) -> Command {
    let mut command = Command::new(python);
    for_numbers(&mut command);
    command
}

/// Lets NumPy's BLAS in `command` pick its kernels for this processor itself.
pub(crate) fn for_numbers(command: &mut Command) -> &mut Command {
    command.env_remove("OPENBLAS_CORETYPE").env_remove("OPENBLAS_L2_SIZE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_versions_are_known() {
        assert_eq!(GYMNASIUM.version("gymnasium"), ENVPOOL.version("gymnasium"));
        assert_eq!(ENVPOOL.version("numpy"), "?");
        assert_eq!(GYMNASIUM.version("mujoco"), crate::mujoco::VERSION);
    }
}
