//! An encoder's run directory: what its manifest must say for the encoder to be loaded.

use std::path::Path;

use rl755_env::Space;
use rl755_nn::{OptimizerConfig, Precision};
use rl755_run::{ModelIdentity, RunError, TrainedRun, TrainingConfig};
use serde::{Deserialize, Serialize};

use crate::{EncoderError, TrainEncoderConfig};

/// The name of the stage in manifests.
pub(crate) const STAGE: &str = "train-encoder";

/// `config` of an encoder's manifest: what was trained and how, without where the data was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunConfig {
    pub(crate) model: String,
    /// With every default filled in.
    pub(crate) model_config: serde_json::Value,
    pub(crate) observation_space: Space,
    pub(crate) split: String,
    pub(crate) validation_split: String,
    pub(crate) validation_observations: usize,
    pub(crate) optimizer: OptimizerConfig,
    pub(crate) training: TrainingConfig,
    pub(crate) batch_size: usize,
    pub(crate) obs_sampled_per_rollout: usize,
    pub(crate) shuffle_buffer_bytes: u64,
    pub(crate) precision: Precision,
    pub(crate) early_stopping: Option<u64>,
}

impl RunConfig {
    pub(crate) fn new(
        config: &TrainEncoderConfig,
        model_config: serde_json::Value,
        observation_space: Space,
    ) -> Self {
        Self {
            model: config.model.clone(),
            model_config,
            observation_space,
            split: config.split.clone(),
            validation_split: config.validation_split.clone(),
            validation_observations: config.validation_observations,
            optimizer: config.optimizer.clone(),
            training: config.training.clone(),
            batch_size: config.batch_size,
            obs_sampled_per_rollout: config.obs_sampled_per_rollout,
            shuffle_buffer_bytes: config.shuffle_buffer_bytes,
            precision: config.compute.precision,
            early_stopping: config.checkpoints.early_stopping,
        }
    }
}

/// A trained encoder on disk.
#[derive(Clone, Debug)]
pub(crate) struct EncoderRun {
    pub(crate) run: TrainedRun,
    pub(crate) config: RunConfig,
}

impl EncoderRun {
    /// Finds the checkpoint of that number, or the one that a finished run says later stages take, in `path`.
    pub(crate) fn open(path: &Path, checkpoint: Option<u64>) -> Result<Self, RunError> {
        let run = TrainedRun::open(path, STAGE, checkpoint)?;
        run.keep()?;
        Ok(Self { config: run.config()?, run })
    }
}

/// Which encoder is in `model_dir`: its checkpoint of that number, or the one that a
/// finished training says later stages take (`checkpoint` among its results).
///
/// # Errors
/// When there is no such run or checkpoint, or the training is not finished (and no checkpoint was
/// named).
pub fn encoder_identity(
    model_dir: &Path,
    checkpoint: Option<u64>,
) -> Result<ModelIdentity, RunError> {
    TrainedRun::open(model_dir, STAGE, checkpoint)?.identity()
}

/// The newest checkpoint in `model_dir` that is the encoder `identity`: what was trained on an
/// encoder's latents works with no other encoder.
///
/// # Errors
/// When there is no run of an encoder, it cannot be read, or none of its checkpoints is that one.
pub fn encoder_checkpoint(model_dir: &Path, identity: &ModelIdentity) -> Result<u64, EncoderError> {
    let other =
        || EncoderError::OtherEncoder { path: model_dir.to_owned(), identity: identity.clone() };
    TrainedRun::find(model_dir, STAGE, identity)?.ok_or_else(other)
}
