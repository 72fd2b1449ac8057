//! A sequence model's run directory: what its manifest must say for the model to be loaded.

use std::path::{Path, PathBuf};

use rl755_nn::OptimizerConfig;
use rl755_run::{Checkpoints, Digest, Manifest, RunDir, RunError, TrainingConfig};
use serde::{Deserialize, Serialize};

use crate::{SequenceError, Sizes};

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
    /// The digest of that encoder's weights: latents of another encoder mean nothing to the model.
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
}

impl SequenceRunConfig {
    /// Reads it from the run in `model_dir`, finished or not.
    ///
    /// # Errors
    /// When there is no run of this stage, or its manifest is damaged.
    pub fn read(model_dir: &Path) -> Result<Self, SequenceError> {
        let manifest = match RunDir::read(model_dir, STAGE) {
            Err(RunError::Incomplete { .. }) => read_manifest(model_dir)?,
            manifest => manifest?,
        };
        Self::of(model_dir, manifest)
    }

    fn of(model_dir: &Path, manifest: Manifest) -> Result<Self, SequenceError> {
        serde_json::from_value(manifest.config).map_err(|error| {
            let path = model_dir.join("manifest.json");
            RunError::Damaged { path, reason: format!("config: {error}") }.into()
        })
    }
}

/// A trained sequence model on disk.
#[derive(Clone, Debug)]
pub(crate) struct SequenceRun {
    pub(crate) config: SequenceRunConfig,
    /// The directory of the checkpoint.
    pub(crate) checkpoint: PathBuf,
}

impl SequenceRun {
    /// Finds the checkpoint of that number, or the newest one of a finished run, in `model_dir`.
    pub(crate) fn open(model_dir: &Path, number: Option<u64>) -> Result<Self, SequenceError> {
        let manifest = match RunDir::read(model_dir, STAGE) {
            // A checkpoint that is asked for by its number is as good as it will ever be.
            Err(RunError::Incomplete { .. }) if number.is_some() => read_manifest(model_dir)?,
            manifest => manifest?,
        };
        let config = SequenceRunConfig::of(model_dir, manifest)?;
        let checkpoints = Checkpoints::new(&model_dir.join("checkpoints"));
        let checkpoint = match number {
            Some(number) => Some(checkpoints.path(number)).filter(|path| path.is_dir()),
            None => checkpoints.latest().map_err(RunError::io(model_dir))?.map(|(_, path)| path),
        };
        let checkpoint = checkpoint
            .ok_or_else(|| SequenceError::NoCheckpoint { run: model_dir.to_owned(), number })?;
        Ok(Self { config, checkpoint })
    }
}

fn read_manifest(model_dir: &Path) -> Result<Manifest, RunError> {
    let path = model_dir.join("manifest.json");
    let text = std::fs::read(&path).map_err(RunError::io(&path))?;
    serde_json::from_slice(&text)
        .map_err(|error| RunError::Damaged { path, reason: error.to_string() })
}
