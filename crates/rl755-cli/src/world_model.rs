//! Loading the models that a controller looks through.

use std::path::Path;

use anyhow::Context;
use burn::tensor::Device;
use rl755_controller::{LoadedModel, WorldModel, WorldModelIdentity};
use rl755_encoder::{encoder_checkpoint, encoder_identity};
use rl755_run::{Choice, TrainedRun};
use rl755_sequence::{SequenceRunConfig, sequence_identity};

use crate::Plugins;

/// Loads a trained encoder and, if there is one, a trained sequence model: its checkpoint `choice`,
/// with the encoder that it was trained on, or without a sequence model that of the encoder.
pub(crate) fn load_world_model(
    plugins: &Plugins,
    encoder: &Path,
    sequence: Option<&Path>,
    choice: Option<Choice>,
    device: &Device,
) -> anyhow::Result<WorldModel> {
    let number = |run: &Path, stage: &str| choice.map(|c| c.number(run, stage)).transpose();
    let checkpoint = match sequence {
        // A sequence model knows only the latents it was trained on.
        Some(run) => {
            let identity = SequenceRunConfig::read(run)?.encoder_identity();
            let found = encoder_checkpoint(encoder, &identity);
            Some(found.with_context(|| format!("the sequence model {}", run.display()))?)
        }
        None => number(encoder, "train-encoder")?,
    };
    let model = plugins.encoders.load(encoder, checkpoint, device);
    let model = model.with_context(|| format!("the encoder {}", encoder.display()))?;
    let encoder = LoadedModel::new(model, encoder_identity(encoder, checkpoint)?, encoder)?;
    let sequence = sequence
        .map(|run| {
            let checkpoint = number(run, "train-sequence")?;
            let model = plugins.sequences.load(run, checkpoint, device);
            let model = model.with_context(|| format!("the sequence model {}", run.display()))?;
            anyhow::Ok(LoadedModel::new(model, sequence_identity(run, checkpoint)?, run)?)
        })
        .transpose()?;
    Ok(WorldModel { encoder, sequence })
}

/// As [`load_world_model`], the checkpoints that are the models `identity`, which need not be those that
/// others take. Where there are none left, what is loaded is another model.
pub(crate) fn load_identified(
    plugins: &Plugins,
    encoder: &Path,
    sequence: Option<&Path>,
    identity: &WorldModelIdentity,
    device: &Device,
) -> anyhow::Result<WorldModel> {
    let checkpoint = match (sequence, &identity.sequence) {
        (Some(run), Some(model)) => TrainedRun::find(run, "train-sequence", model),
        _ => TrainedRun::find(encoder, "train-encoder", &identity.encoder),
    };
    load_world_model(plugins, encoder, sequence, checkpoint?.map(Choice::Number), device)
}
