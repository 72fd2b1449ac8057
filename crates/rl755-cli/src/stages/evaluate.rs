//! `rl755-evaluate`.

use std::path::PathBuf;

use anyhow::bail;
use rl755_controller::{ControllerError, ControllerRun, EvaluateConfig, Player, evaluate_policy};
use rl755_run::Outcome;

use super::train_controller::stage_context;
use crate::{
    Desk, Plugins, Stage, device::DeviceFlags, stage::print, training_flags::at_least_1,
    world_model_flags::load_world_model,
};

/// Score a controller, or a policy to compare it with, on tracks it was not trained on
///
/// Writes scores.json: mean, standard deviation, standard error, each episode, the environment's
/// version and its rules. The same seed gives the same tracks to every controller and policy.
#[derive(Clone, Debug, clap::Args)]
pub struct Evaluate {
    /// The trained controller: a directory that rl755-train-controller wrote
    #[arg(long, value_name = "DIR", required_unless_present = "policy", conflicts_with = "policy")]
    controller: Option<PathBuf>,
    /// Its encoder, if it was moved since
    #[arg(long, value_name = "DIR", requires = "controller")]
    encoder: Option<PathBuf>,
    /// Its sequence model, if it was moved since
    #[arg(long, value_name = "DIR", requires = "controller")]
    sequence: Option<PathBuf>,
    /// A policy, such as `uniform`, instead of a controller
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// The policy's environment; a controller is evaluated where it was trained
    #[arg(long, default_value = "CarRacing-v3", value_name = "ID")]
    environment: String,
    /// Episodes
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = at_least_1)]
    episodes: usize,
    /// Steps after which an episode is broken off [default: the environment's own limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_steps: Option<u32>,
    /// Where scores.json goes
    #[arg(long, value_name = "DIR")]
    out_dir: PathBuf,
    /// Film the first episode, as WebM, which browsers play
    #[arg(long, value_name = "FILE", conflicts_with = "policy")]
    video: Option<PathBuf>,
    /// Environments stepped together. The results do not depend on it
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = at_least_1)]
    batch_size: usize,
    /// What the tracks are drawn from
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    #[command(flatten)]
    device: DeviceFlags,
}

impl Stage for Evaluate {
    const NAME: &'static str = "rl755-evaluate";
    const UNIT: &'static str = "episodes";

    fn run(self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        match self.evaluate(plugins, desk) {
            Err(error) => match error.downcast_ref() {
                Some(ControllerError::Interrupted) => Ok(Outcome::Interrupted { step: 0 }),
                _ => Err(error),
            },
            Ok(()) => Ok(Outcome::Complete),
        }
    }
}

impl Evaluate {
    fn evaluate(self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<()> {
        let config =
            EvaluateConfig { episodes: self.episodes, horizon: self.max_steps, seed: self.seed };
        let context = stage_context(plugins, desk, self.batch_size);
        let scores = match (&self.controller, &self.policy) {
            (Some(controller), _) => {
                let run = ControllerRun::open(controller)?;
                let encoder = self.encoder.as_ref().unwrap_or(&run.encoder);
                let sequence = self.sequence.as_ref().or(run.sequence.as_ref());
                let device = self.device.open()?;
                let models =
                    load_world_model(plugins, encoder, sequence.map(|s| s.as_path()), &device)?;
                let player = Player::new(&run, &models, &context)?;
                // First the film: what cannot be filmed is told before all episodes are played.
                if let Some(video) = &self.video {
                    player.film(&config, &context, video)?;
                }
                player.evaluate(&config, &context)?
            }
            (None, Some(policy)) => {
                evaluate_policy(policy, &self.environment, &plugins.policies, &config, &context)?
            }
            (None, None) => bail!("give --controller or --policy"),
        };
        scores.write(&self.out_dir)?;
        print(&scores.to_string());
        Ok(())
    }
}
