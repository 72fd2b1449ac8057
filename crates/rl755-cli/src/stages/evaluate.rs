//! `rl755-evaluate`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use rl755_controller::{
    ControllerError, ControllerRun, EvaluateConfig, Evaluation, Player, PolicyPlayer, TrainedPolicy,
};
use rl755_run::Outcome;

use super::train_controller::stage_context;
use crate::{
    Desk, Plugins, Stage,
    device::DeviceFlags,
    flag_values::{count, steps, webm},
    stage::FROM_THE_BEGINNING,
    world_model::load_identified,
};

/// Score a controller or a trained policy, or a policy to compare it with, on tracks it was not trained on
///
/// Writes manifest.json, and scores.json: mean, standard deviation, standard error, each episode, the environment's
/// version and its rules. The same seed gives the same tracks to every controller and policy.
#[derive(Clone, Debug, clap::Args)]
pub struct Evaluate {
    /// The trained controller: a directory that rl755-train-controller wrote
    #[arg(long, value_name = "DIR", conflicts_with_all = ["policy", "trained_policy"])]
    controller: Option<PathBuf>,
    /// Its encoder, if it was moved since
    #[arg(long, value_name = "DIR", requires = "controller")]
    encoder: Option<PathBuf>,
    /// Its sequence model, if it was moved since
    #[arg(long, value_name = "DIR", requires = "controller")]
    sequence: Option<PathBuf>,
    /// A trained policy, whose likeliest actions are played: a directory that rl755-train-policy wrote
    #[arg(long, value_name = "DIR", conflicts_with = "policy")]
    trained_policy: Option<PathBuf>,
    /// A policy, such as `uniform`, instead of what was trained
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// The policy's environment; what was trained is evaluated where it was trained [default:
    /// CarRacing-v3]
    #[arg(long, value_name = "ID", conflicts_with_all = ["controller", "trained_policy"])]
    environment: Option<String>,
    /// Episodes
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = count)]
    episodes: usize,
    /// Steps after which an episode is broken off [default: the environment's own limit]
    #[arg(long, value_name = "N", value_parser = steps)]
    max_steps: Option<u32>,
    /// Where scores.json goes; an earlier evaluation there is replaced
    #[arg(long, value_name = "DIR")]
    out_dir: PathBuf,
    /// Film the first episode, as WebM, which browsers play
    #[arg(long, value_name = "FILE.webm", value_parser = webm)]
    video: Option<PathBuf>,
    /// Environments stepped together. The results do not depend on it
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = count)]
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
    const INTERRUPTED: &'static str = FROM_THE_BEGINNING;

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
        let begin = |subject: &str, environment: &str, inputs| {
            Evaluation::begin(&self.out_dir, subject, environment, &config, inputs)
        };
        // First the film: what cannot be filmed is told before all episodes are played.
        let play = |player: PolicyPlayer<'_>, evaluation| -> anyhow::Result<_> {
            if let Some(video) = &self.video {
                player.film(&config, &context, video)?;
            }
            Ok((evaluation, player.evaluate(&config, &context)?))
        };
        let (evaluation, scores) = match (&self.controller, &self.trained_policy, &self.policy) {
            (Some(controller), ..) => {
                let run = ControllerRun::open(controller)?;
                let encoder = self.encoder.as_ref().unwrap_or(&run.encoder);
                let sequence = self.sequence.as_ref().or(run.sequence.as_ref());
                let device = self.device.open()?;
                let sequence = sequence.map(PathBuf::as_path);
                let models = load_identified(plugins, encoder, sequence, &run.models, &device);
                let models = models.context(
                    "cannot load what the controller was trained with (--encoder and --sequence \
                     say where it is if it was moved)",
                )?;
                let player = Player::new(&run, &models, &context)?;
                let evaluation =
                    begin(&player.subject(), &run.training.environment, player.inputs())?;
                if let Some(video) = &self.video {
                    player.film(&config, &context, video)?;
                }
                (evaluation, player.evaluate(&config, &context)?)
            }
            (None, Some(trained), _) => {
                let (policy, input) = TrainedPolicy::open(trained)?;
                let player = PolicyPlayer::trained(&policy, &context)?;
                play(player, begin(&player.subject(), &policy.spec().id, vec![input])?)?
            }
            (None, None, Some(policy)) => {
                let environment = self.environment.as_deref().unwrap_or("CarRacing-v3");
                let player = PolicyPlayer::new(policy, environment, &plugins.policies, &context)?;
                play(player, begin(&player.subject(), environment, vec![])?)?
            }
            (None, None, None) => bail!(
                "give --controller DIR or --trained-policy DIR, or --policy NAME to score a policy"
            ),
        };
        evaluation.finish(&scores)?;
        desk.print(&scores.to_string())?;
        Ok(())
    }
}
