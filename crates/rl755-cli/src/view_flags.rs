//! `--video` and `--window`: who watches beside the page.

use std::path::PathBuf;

use anyhow::{Context, bail};
use rl755_env::{EnvRegistry, ObservationBuffer};
use rl755_run::AtomicFile;
use rl755_video::Film;

use crate::flag_values::webm;

// Flags of whatever plays the newest policy. (A doc comment would replace the stage's help text.)
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ViewFlags {
    /// Film an episode of the newest policy, as WebM, which browsers play; a newer film replaces it.
    /// No display is needed
    #[arg(long, value_name = "FILE.webm", value_parser = webm)]
    pub(crate) video: Option<PathBuf>,
    /// Show a MuJoCo environment in MuJoCo's own viewer, too; needs a program built with the feature
    /// `rl755-cli/window`
    #[arg(long)]
    pub(crate) window: bool,
}

impl ViewFlags {
    /// Whether somebody watches.
    pub(crate) fn is_some(&self) -> bool {
        self.window || self.video.is_some()
    }

    /// Says at once what would not work in `environment`, as far as that can be known without drawing:
    /// the program that does that is another one.
    ///
    /// # Errors
    /// When it cannot be filmed, or not to that file, or not be shown in a window.
    pub(crate) fn check(&self, envs: &EnvRegistry, environment: &str) -> anyhow::Result<()> {
        if !self.is_some() {
            return Ok(());
        }
        let mut env = envs.make(environment)?;
        if self.window {
            if env.scene().is_none_or(|scene| scene.physics_state().is_empty()) {
                bail!("--window shows MuJoCo's environments only, and not {environment}");
            }
            if !cfg!(feature = "window") {
                bail!("--window needs a program built with `--features rl755-cli/window`");
            }
        }
        let Some(video) = &self.video else { return Ok(()) };
        if env.scene().is_none() {
            let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
            let mut film = Film::new(&*env);
            env.reset(Some(0), observation.as_mut())?;
            film.add(|| env.render(), observation.as_ref());
            film.check().context("--video")?;
        } else if !rl755_env_mujoco::DRAWS && is_mujoco(environment) {
            bail!(
                "--video of {environment} needs a program built with `--features rl755-cli/mujoco`"
            );
        }
        // Nothing is kept of it.
        AtomicFile::create(video).with_context(|| format!("--video {}", video.display()))?;
        Ok(())
    }
}

fn is_mujoco(environment: &str) -> bool {
    rl755_env_mujoco::IDS.contains(&environment.split(':').next().unwrap_or(environment))
}
