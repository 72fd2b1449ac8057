//! A sequence model's run directory: what its manifest must say for the model to be loaded.

use std::path::Path;

use rl755_nn::{OptimizerConfig, Precision};
use rl755_run::{Digest, ModelIdentity, RunDir, RunError, TrainedRun, TrainingConfig};
use serde::{Deserialize, Serialize};

use crate::Sizes;

/// The name of the stage in manifests.
pub(crate) const STAGE: &str = "train-sequence";

/// The config in the manifest of a sequence model's run: what it was trained with, and all that
/// is needed to load it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequenceRunConfig {
    /// The registered name of the model.
    pub model: String,
    /// The model's hyper-parameters, defaults filled in.
    pub model_config: serde_json::Value,
    /// Widths and sequence length.
    pub sizes: Sizes,
    /// The registered name of the encoder that made the latents.
    pub encoder: String,
    /// The digest of that encoder's weights, name and settings: latents of another encoder mean nothing to the model.
    pub encoder_digest: Digest,
    /// Whether latents were drawn anew for each batch.
    pub sample_observations: bool,
    /// Whether the model predicts differences.
    pub difference_targets: bool,
    /// The split it was trained on.
    pub split: String,
    /// The split it was validated on.
    pub validation_split: String,
    /// Batches of each validation.
    pub validation_batches: u64,
    /// Adam.
    pub optimizer: OptimizerConfig,
    /// Steps, checkpoints, logging.
    pub training: TrainingConfig,
    /// Sequences in a step.
    pub batch_size: usize,
    /// What passes were computed in.
    pub precision: Precision,
    /// Checkpoints without a better one after which it stops.
    pub early_stopping: Option<u64>,
}

impl SequenceRunConfig {
    /// Reads it from the run in `model_dir`, finished or not.
    ///
    /// # Errors
    /// When there is no run of this stage, or its manifest is damaged.
    pub fn read(model_dir: &Path) -> Result<Self, RunError> {
        RunDir::peek(model_dir, STAGE)?.config_of(model_dir)
    }

    /// The encoder that made the latents.
    pub fn encoder_identity(&self) -> ModelIdentity {
        ModelIdentity { name: self.encoder.clone(), digest: self.encoder_digest.clone() }
    }
}

/// Which sequence model is in `model_dir`: its checkpoint of that number, or the newest one of a
/// finished training.
///
/// # Errors
/// When there is no such run or checkpoint, or the training is not finished (and no checkpoint was
/// named).
pub fn sequence_identity(
    model_dir: &Path,
    checkpoint: Option<u64>,
) -> Result<ModelIdentity, RunError> {
    TrainedRun::open(model_dir, STAGE, checkpoint)?.identity()
}
