//! `rl755-train-sequence`.

use std::path::PathBuf;

use anyhow::Context;
use burn::tensor::Device;
use ndarray::{Array4, ArrayView2};
use rl755_data::{Dataset, EncoderSource};
use rl755_encoder::{ObservationEncoder, encoder_checkpoint};
use rl755_env::{ObservationBuffer, Space};
use rl755_nn::Precision;
use rl755_run::Outcome;
use rl755_sequence::{DecodeLatents, StageContext, TrainSequenceConfig};

use crate::{
    Desk, Plugins, Stage,
    dataset_flags::DatasetFlags,
    device::DeviceFlags,
    flag_values::{bytes, count, threads},
    stage::WITH_RESUME,
    training_flags::TrainingFlags,
};

/// Train a model that predicts the next latent from the latents and actions so far
#[derive(Clone, Debug, clap::Args)]
pub struct TrainSequence {
    /// The model: mdn-rnn, lstm, transformer, retrieval, infilling or null. --help says more, and
    /// lists their settings
    ///
    ///   mdn-rnn      World Models' LSTM that predicts a mixture of normal distributions
    ///   lstm         an LSTM that predicts a value, with a squared error
    ///   transformer  the original project's, with a value or a mixture
    ///   retrieval    a transformer, and what happened before its context, by learned keys; needs a
    ///                --sequence-length a few times its context
    ///   infilling    a U-Net that fills in masked latents
    ///   null         no memory: the controller sees the latent alone
    ///
    /// Settings (--model-config) of mdn-rnn and lstm:
    ///   hidden_size 256, mixtures 5 (mdn-rnn), predict_reward false, predict_done false,
    ///   terminal_weight 10 (of the steps that end a task, in the loss of predict_done)
    /// of transformer:
    ///   layers 6, hidden_size 256, heads 4, feed_forward_size 1024, mixtures 0 (a value),
    ///   dropout 0.1, context_slide 8 (steps forgotten when the context is full)
    /// of retrieval:
    ///   context 16, window 4, stride 2, top_k 4, key_size 64, most_windows 256,
    ///   transformer {} (the settings of transformer)
    /// of infilling:
    ///   channels 64, depth 2, shortest_span 1, longest_span 8, mask_rate 0.25,
    ///   prediction_rate 0.5, gan_weight 0, noise_size 8, mode_seeking_weight 0.1
    #[arg(long, default_value = "mdn-rnn", value_name = "NAME", verbatim_doc_comment)]
    model: String,
    #[command(flatten)]
    dataset: DatasetFlags,
    /// The encoder that made the latents, so that pictures show dreams as frames
    #[arg(long, value_name = "DIR")]
    encoder: Option<PathBuf>,
    /// The split to train on
    #[arg(long, default_value = "train", value_name = "NAME")]
    split: String,
    /// Sequences in a batch
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = count)]
    batch_size: usize,
    /// Steps in a sequence
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = count)]
    sequence_length: usize,
    /// Draw latents anew from their posterior for each batch; `false` takes the posterior means
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1,
          default_missing_value = "true", value_name = "BOOL")]
    sample_observations: bool,
    /// Predict the difference between the next latent and the current one, not the next itself
    #[arg(long, default_value_t = false, action = clap::ArgAction::Set, num_args = 0..=1,
          default_missing_value = "true", value_name = "BOOL")]
    difference_targets: bool,
    /// How much of rollouts is kept in memory, such as 2GB, 1.5G (which is GiB) or 0; the others are
    /// read each time they are visited
    #[arg(long, default_value = "2GB", value_name = "SIZE", value_parser = bytes)]
    rollout_memory: u64,
    /// Threads that read rollouts
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = threads)]
    reader_threads: usize,
    #[command(flatten)]
    training: TrainingFlags,
    #[command(flatten)]
    device: DeviceFlags,
}

impl Stage for TrainSequence {
    const NAME: &'static str = "rl755-train-sequence";
    const UNIT: &'static str = "steps";
    const INTERRUPTED: &'static str = WITH_RESUME;

    fn run(self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        let dataset = self.dataset.find(plugins)?;
        let devices = self.device.open_all(self.training.precision)?;
        let device = &devices[0];
        // A device that computes in 16 bits knows no other numbers.
        let full = self.training.precision == Precision::F32;
        let shown_on = if full { device.clone() } else { Device::flex() };
        let encoder = self
            .encoder
            .as_ref()
            .map(|run| {
                // Only the encoder that made the latents can show them.
                let dataset = Dataset::open(&dataset)?;
                dataset.expect_encoded()?;
                let made = dataset.manifest().encoder.as_ref().map(EncoderSource::identity);
                let checkpoint = made.map(|made| encoder_checkpoint(run, &made)).transpose()?;
                anyhow::Ok(plugins.encoders.load(run, checkpoint, &shown_on)?)
            })
            .transpose()
            .context("--encoder")?;
        let defaults =
            plugins.sequences.default_optimizer(&self.model, &self.training.model_config)?;
        let config = TrainSequenceConfig {
            model: self.model,
            model_config: self.training.model_config.clone(),
            dataset,
            split: self.split,
            optimizer: Some(self.training.optimizer(defaults)?),
            training: self.training.training(),
            batch_size: self.batch_size,
            sequence_length: self.sequence_length,
            sample_observations: self.sample_observations,
            difference_targets: self.difference_targets,
            memory_bytes: self.rollout_memory,
            reader_threads: self.reader_threads,
            compute: self.training.compute(&devices[1..]),
            checkpoints: self.training.checkpoints(),
            init_weights: self.training.init_weights.clone(),
            seed: self.training.seed,
            ..TrainSequenceConfig::default()
        };
        let decode = encoder.as_deref().and_then(frames_of);
        let context = StageContext {
            device,
            progress: &*desk.progress,
            interrupt: &desk.interrupt,
            decode: decode.as_deref(),
        };
        let model_dir = self.training.model_dir.as_path();
        let outcome =
            plugins
                .sequences
                .train(&config, model_dir, self.training.resume, &context)
                .with_context(|| format!("training {} in {}", config.model, model_dir.display()))?;
        desk.print_trained::<Self>(model_dir, outcome)
    }
}

/// Decodes latents to frames, where the encoder encodes frames.
fn frames_of(encoder: &dyn ObservationEncoder) -> Option<Box<DecodeLatents<'_>>> {
    let Space::Image { height, width, channels } = *encoder.observation_space() else {
        return None;
    };
    Some(Box::new(move |latents: ArrayView2<'_, f32>| {
        let ObservationBuffer::U8(bytes) = encoder.decode(latents).ok()?? else { return None };
        Array4::from_shape_vec([latents.nrows(), height, width, channels], bytes).ok()
    }))
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn help_names_every_model_and_every_setting_with_its_default() {
        let mut command = TrainSequence::augment_args(clap::Command::new("test"));
        let help = command.render_long_help().to_string();
        let models = Plugins::with_builtin().sequences;
        for name in models.names() {
            assert!(help.contains(&format!("  {name} ")), "{name}: {help}");
            let config = models.default_config(name).unwrap();
            for (field, default) in config.as_object().unwrap() {
                let default = if default.is_object() { "{}".into() } else { default.to_string() };
                let default = default.trim_end_matches(".0");
                let named = format!("{field} {default}");
                assert!(help.contains(&named), "{named} of {name}: {help}");
            }
        }
    }
}
