//! The stages' binaries: building them for the device, and calling them.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, bail};

use super::{command_line::CommandLine, devices::Devices, stage::Stage};
use crate::{libtorch, mujoco, workspace};

/// Where the binaries are, and the environment they need.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    directory: PathBuf,
    environment: Vec<(&'static str, String)>,
}

impl Programs {
    /// Builds the binaries with what `devices` need.
    pub(crate) fn build(devices: &Devices) -> anyhow::Result<Self> {
        let programs = Self::planned(devices)?;
        // The whole workspace and `--examples`, of which there need be none: so the dependencies get
        // the same features as in `cargo xtask test`, and burn is compiled once for both.
        let mut command = workspace::cargo(&["build", "--release", "--workspace", "--examples"]);
        command.args(["--exclude", "xtask"]);
        let mut names: BTreeSet<&str> = Stage::ALL.iter().map(|stage| stage.program()).collect();
        // No stages of the recipe.
        names.extend(["rl755-plot", "rl755-train-policy"]);
        for name in names {
            command.args(["--bin", name]);
        }
        mujoco::add_feature(&mut command);
        if let Some(feature) = devices.feature() {
            command.args(["--features", &format!("rl755-cli/{feature}")]);
        }
        if devices.feature() == Some("tch") {
            // LibTorch's settings change what is built, so it has a place of its own.
            command.arg("--target-dir").arg(libtorch::target_dir());
        }
        for (name, value) in &programs.environment {
            command.env(name, value);
        }
        workspace::run(&mut command)?;
        Ok(programs)
    }

    /// Where [`build`](Self::build) puts them.
    pub(crate) fn planned(devices: &Devices) -> anyhow::Result<Self> {
        let (target, environment) = if devices.feature() == Some("tch") {
            (libtorch::target_dir(), libtorch::environment()?)
        } else {
            (workspace::target_dir(), vec![])
        };
        Ok(Self { directory: shortened(&target.join("release")), environment })
    }

    /// Where they are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Binaries that are in `directory` already.
    pub(crate) fn built(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), environment: vec![] }
    }

    /// The command that runs `stage`.
    pub(crate) fn command(&self, stage: Stage, arguments: &[String]) -> Command {
        let mut command = Command::new(self.directory.join(stage.program()));
        command.args(arguments);
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        command
    }

    /// Asks a stage whether it understands its command line, so that a mistake in the preset does
    /// not show an hour later.
    pub(crate) fn check(&self, line: &CommandLine, out: &Path) -> anyhow::Result<()> {
        let mut arguments = line.arguments(out);
        // Flags are read in order: `--help` is reached only when those before it are good.
        arguments.push("--help".to_owned());
        let mut command = self.command(line.stage, &arguments);
        let ended = command
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
        if !ended.status.success() {
            let said = String::from_utf8_lossy(&ended.stderr);
            bail!("{} does not take its flags: {}", line.stage.name(), said.trim());
        }
        Ok(())
    }
}

/// `path` as one would type it in the current directory.
pub(crate) fn shortened(path: &Path) -> PathBuf {
    let current = env::current_dir().unwrap_or_default();
    match path.strip_prefix(&current) {
        Ok(relative) if !relative.as_os_str().is_empty() => relative.to_owned(),
        _ => path.to_owned(),
    }
}
