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
    /// The model, for frames: vae-64, vae-96, vae, autoencoder or simclr; for vectors: mlp or
    /// identity. --help says more, and lists their settings
    ///
    /// For frames:
    ///   vae-64       World Models' VAE: frames are resized to 64×64
    ///   vae-96       the original project's VAE: 96×96
    ///   vae          a VAE for frames of any size
    ///   autoencoder  the same without noise
    ///   simclr       contrastive: tells frames apart whatever their colours and blur
    /// For vectors:
    ///   mlp          an autoencoder of fully connected layers, or a VAE
    ///   identity     the vectors as they are; nothing is learnt
    ///
    /// Settings (--model-config) of vae-64 and vae-96:
    ///   latent_size 32, channels [32, 64, 128, 256], beta 1, free_nats 0.5 (vae-96: 0)
    /// of vae, autoencoder and simclr:
    ///   latent_size 32, input_size null (as the frames are) or [HEIGHT, WIDTH], grayscale false,
    ///   channels null (as many convolutions as the size allows) or a list, kernel_sizes [4],
    ///   strides [2] (one for all convolutions, or one for each)
    /// of vae, too:
    ///   beta 1, free_nats 0.5, std_dev "log_variance" or "softplus"
    /// of simclr, too:
    ///   temperature 0.5, hidden_size 256, projection_size 128, decoder true, crop_area [0.5, 1],
    ///   flip_probability 0, color_probability 0.8, color_strength 0.5,
    ///   grayscale_probability 0.2, blur_probability 0.5
    /// of mlp:
    ///   latent_size null (the vector's, at most 32), hidden [128, 128], normalize "standardize",
    ///   "symlog" or "none", variational false, beta 1, free_nats 0, std_dev "log_variance"
    #[arg(long, default_value = "vae-64", value_name = "NAME", verbatim_doc_comment)]
    model: String,
    #[command(flatten)]
    dataset: DatasetFlags,
    /// The split to train on
    #[arg(long, default_value = "train", value_name = "NAME")]
    split: String,
    /// Observations in a batch
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = count)]
    batch_size: usize,
    /// Numbers in a latent, where the model leaves the choice [default: the model's; 32 for frames]
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
        let devices = self.device.open_all(self.training.precision)?;
        let device = &devices[0];
        let mut model_config = self.training.model_config.clone();
        let defaults = plugins.encoders.default_config(&self.model)?;
        // The one setting of models that has a flag; an encoder without it has its width fixed.
        if let Some(settings) = model_config.as_object_mut()
            && defaults.get("latent_size").is_some()
            && let Some(size) = self.representation_size
        {
            if settings.contains_key("latent_size") {
                bail!("give --representation-size or a latent_size in --model-config, not both");
            }
            settings.insert("latent_size".to_owned(), size.into());
        }
        let config = TrainEncoderConfig {
            model: self.model,
            model_config,
            dataset,
            split: self.split,
            optimizer: self.training.optimizer(OptimizerConfig::default())?,
            training: self.training.training(),
            batch_size: self.batch_size,
            obs_sampled_per_rollout: self.obs_sampled_per_rollout,
            shuffle_buffer_bytes: self.shuffle_buffer,
            reader_threads: self.reader_threads,
            compute: self.training.compute(&devices[1..]),
            checkpoints: self.training.checkpoints(),
            init_weights: self.training.init_weights.clone(),
            seed: self.training.seed,
            ..TrainEncoderConfig::default()
        };
        let context =
            StageContext { device, progress: &*desk.progress, interrupt: &desk.interrupt };
        let model_dir = &self.training.model_dir;
        let outcome = plugins
            .encoders
            .train(&config, model_dir, self.training.resume, &context)
            .with_context(|| format!("training {} in {}", config.model, model_dir.display()))?;
        desk.print_trained::<Self>(model_dir, outcome)
    }
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn help_names_every_encoder_and_every_setting() {
        let mut command = TrainEncoder::augment_args(clap::Command::new("test"));
        let help = command.render_long_help().to_string();
        let encoders = Plugins::with_builtin().encoders;
        for name in encoders.names() {
            assert!(help.contains(&format!("  {name} ")), "{name}: {help}");
            let config = encoders.default_config(name).unwrap();
            for field in config.as_object().unwrap().keys() {
                assert!(help.contains(&format!("{field} ")), "{field} of {name}");
            }
        }
    }
}
