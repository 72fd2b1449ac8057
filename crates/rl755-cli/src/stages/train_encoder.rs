//! `rl755-train-encoder`.

use anyhow::{Context, bail};
use rl755_encoder::{StageContext, TrainEncoderConfig};
use rl755_nn::OptimizerConfig;
use rl755_run::Outcome;

use crate::{
    Desk, Plugins, Stage,
    dataset_flags::DatasetFlags,
    device::DeviceFlags,
    flag_values::{bytes, count, threads},
    stage::WITH_RESUME,
    training_flags::TrainingFlags,
};

/// Train an observation encoder, such as a VAE, on single frames of rollouts
#[derive(Clone, Debug, clap::Args)]
pub struct TrainEncoder {
    /// The model: `vae-64` (World Models) or `vae-96` (the original project), whose settings are
    /// latent_size, channels, beta and free_nats, or `identity` (vectors as they are)
    #[arg(long, default_value = "vae-64", value_name = "NAME")]
    model: String,
    #[command(flatten)]
    dataset: DatasetFlags,
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
    /// How much of observations, as they are stored, is shuffled together, such as 64MB or 64M (which
    /// is MiB); twice that is held in memory, as the next part is read ahead
    #[arg(long, default_value = "64MB", value_name = "SIZE", value_parser = bytes)]
    shuffle_buffer: u64,
    /// Threads that read rollouts
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = threads)]
    reader_threads: usize,
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
        let dataset = self.dataset.find(plugins)?;
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
            dataset,
            split: self.split,
            optimizer: self.training.optimizer(OptimizerConfig::default()),
            training: self.training.training(),
            batch_size: self.batch_size,
            obs_sampled_per_rollout: self.obs_sampled_per_rollout,
            shuffle_buffer_bytes: self.shuffle_buffer,
            reader_threads: self.reader_threads,
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
