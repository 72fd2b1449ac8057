//! Loading the models that a controller looks through.

use std::path::Path;

use anyhow::{Context, bail};
use burn::tensor::Device;
use rl755_controller::{LoadedModel, WorldModel, WorldModelIdentity};
use rl755_encoder::{encoder_checkpoint, encoder_identity};
use rl755_run::{Checkpoints, Choice, ModelIdentity};
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

/// Loads the models `identity` from the same directories, whichever of their checkpoints these are.
pub(crate) fn load_identified(
    plugins: &Plugins,
    encoder: &Path,
    sequence: Option<&Path>,
    identity: &WorldModelIdentity,
    device: &Device,
) -> anyhow::Result<WorldModel> {
    let checkpoint = match (sequence, &identity.sequence) {
        (Some(run), Some(identity)) => sequence_checkpoint(run, identity)?,
        _ => encoder_checkpoint(encoder, &identity.encoder)?,
    };
    let choice = Some(Choice::Number(checkpoint));
    let models = load_world_model(plugins, encoder, sequence, choice, device)?;
    if models.identity() != *identity {
        bail!("{} is not the encoder that is worked with", encoder.display());
    }
    Ok(models)
}

/// The newest checkpoint in `run` that is the sequence model `identity`.
fn sequence_checkpoint(run: &Path, identity: &ModelIdentity) -> anyhow::Result<u64> {
    let checkpoints = Checkpoints::new(&run.join("checkpoints")).numbers();
    let checkpoints = checkpoints.with_context(|| run.display().to_string())?;
    let is_it = |number: &u64| sequence_identity(run, Some(*number)).is_ok_and(|i| i == *identity);
    let found = checkpoints.into_iter().rev().find(is_it);
    found.with_context(|| format!("no checkpoint in {} is {identity}", run.display()))
}
