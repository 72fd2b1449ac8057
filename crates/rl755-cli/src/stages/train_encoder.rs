//! `rl755-train-encoder`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use rl755_encoder::{StageContext, TrainEncoderConfig};
use rl755_nn::OptimizerConfig;
use rl755_run::Outcome;

use crate::{
    Desk, Plugins, Stage, dataset_flags::check_environment, device::DeviceFlags,
    flag_values::count, stage::WITH_RESUME, training_flags::TrainingFlags,
};

/// Train an observation encoder, such as a VAE, on single frames of rollouts
#[derive(Clone, Debug, clap::Args)]
pub struct TrainEncoder {
    /// The model: `vae-64` (World Models) or `vae-96` (the original project), whose settings are
    /// latent_size, channels, beta and free_nats, or `identity` (vectors as they are)
    #[arg(long, default_value = "vae-64", value_name = "NAME")]
    model: String,
    /// The packed rollouts: a directory that rl755-pack wrote
    #[arg(long, value_name = "DIR")]
    rollouts_dataset: PathBuf,
    /// The environment that the rollouts must come from, if given
    #[arg(long, value_name = "ID")]
    environment: Option<String>,
    /// The split to train on
    #[arg(long, default_value = "train", value_name = "NAME")]
    split: String,
    /// Observations in a batch
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = count)]
    batch_size: usize,
    /// Numbers in a latent, where the model leaves the choice [default: 32]
    #[arg(long, value_name = "N", value_parser = count)]
    representation_size: Option<usize>,
    /// Random observations taken each time a rollout is read
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = count)]
    obs_sampled_per_rollout: usize,
    /// Observations that are shuffled together
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = count)]
    shuffle_buffer: usize,
    #[command(flatten)]
    training: TrainingFlags,
    #[command(flatten)]
    device: DeviceFlags,
}

impl Stage for TrainEncoder {
    const NAME: &'static str = "rl755-train-encoder";
    const UNIT: &'static str = "steps";
    const INTERRUPTED: &'static str = WITH_RESUME;

    fn run(self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        check_environment(&self.rollouts_dataset, self.environment.as_deref())?;
        let device = self.device.open()?;
        let mut model_config = self.training.model_config.clone();
        let defaults = plugins.encoders.default_config(&self.model)?;
        // The one setting of models that has a flag; an encoder without it has its width fixed.
        if let Some(settings) = model_config.as_object_mut()
            && defaults.get("latent_size").is_some()
        {
            let size = self.representation_size;
            if size.is_some() && settings.contains_key("latent_size") {
                bail!("give --representation-size or a latent_size in --model-config, not both");
            }
            settings.entry("latent_size").or_insert_with(|| size.unwrap_or(32).into());
        }
        let config = TrainEncoderConfig {
            model: self.model,
            model_config,
            dataset: self.rollouts_dataset,
            split: self.split,
            optimizer: self.training.optimizer(OptimizerConfig::default()),
            training: self.training.training(),
            batch_size: self.batch_size,
            obs_sampled_per_rollout: self.obs_sampled_per_rollout,
            shuffle_buffer: self.shuffle_buffer,
            seed: self.training.seed,
            ..TrainEncoderConfig::default()
        };
        let context =
            StageContext { device: &device, progress: &*desk.progress, interrupt: &desk.interrupt };
        let model_dir = &self.training.model_dir;
        let outcome = plugins
            .encoders
            .train(&config, model_dir, self.training.resume, &context)
            .with_context(|| format!("training {} in {}", config.model, model_dir.display()))?;
        desk.print_trained::<Self>(model_dir, outcome)
    }
}
