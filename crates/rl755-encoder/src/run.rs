//! An encoder's run directory: what its manifest must say for the encoder to be loaded.

use std::path::{Path, PathBuf};

use rl755_env::Space;
use rl755_nn::OptimizerConfig;
use rl755_run::{
    Checkpoints, Digest, Manifest, RunDir, RunError, TrainingConfig, digest_bytes, digest_file,
};
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
    pub(crate) shuffle_buffer: usize,
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
            shuffle_buffer: config.shuffle_buffer,
        }
    }
}

/// A trained encoder on disk.
#[derive(Clone, Debug)]
pub(crate) struct EncoderRun {
    pub(crate) path: PathBuf,
    pub(crate) config: RunConfig,
    /// Its weights.
    pub(crate) weights: PathBuf,
}

impl EncoderRun {
    /// Finds the checkpoint of that number, or the newest one of a finished run, in `path`.
    pub(crate) fn open(path: &Path, checkpoint: Option<u64>) -> Result<Self, EncoderError> {
        let manifest = match RunDir::read(path, STAGE) {
            // A checkpoint that is asked for by its number is as good as it will ever be.
            Err(RunError::Incomplete { .. }) if checkpoint.is_some() => read_manifest(path)?,
            manifest => manifest?,
        };
        let config = serde_json::from_value(manifest.config).map_err(|e| RunError::Damaged {
            path: path.join("manifest.json"),
            reason: format!("config: {e}"),
        })?;
        let checkpoints = Checkpoints::new(&path.join("checkpoints"));
        let directory = match checkpoint {
            Some(number) => Some(checkpoints.path(number)).filter(|path| path.is_dir()),
            None => checkpoints.latest().map_err(RunError::io(path))?.map(|(_, path)| path),
        };
        let directory = directory.ok_or_else(|| EncoderError::NoCheckpoint {
            path: path.to_owned(),
            number: checkpoint,
        })?;
        Ok(Self { path: path.to_owned(), config, weights: directory.join("model.safetensors") })
    }

    /// What tells this encoder from others: its weights, its config and what it takes.
    pub(crate) fn digest(&self) -> Result<Digest, EncoderError> {
        let weights = digest_file(&self.weights)
            .map_err(|source| EncoderError::Io { path: self.weights.clone(), source })?;
        let RunConfig { model, model_config, observation_space, .. } = &self.config;
        let content = (weights, model, model_config, observation_space);
        let text = serde_json::to_vec(&content)
            .expect("strings, numbers and lists can always be written as JSON");
        Ok(digest_bytes(&text))
    }
}

/// What tells the encoder in `model_dir` from others, as the manifests of encoded datasets say it:
/// its checkpoint of that number, or the newest one of a finished training.
///
/// # Errors
/// When there is no such run or checkpoint, or the training is not finished (and no checkpoint was
/// named).
pub fn encoder_digest(model_dir: &Path, checkpoint: Option<u64>) -> Result<Digest, EncoderError> {
    EncoderRun::open(model_dir, checkpoint)?.digest()
}

fn read_manifest(path: &Path) -> Result<Manifest, RunError> {
    let file = path.join("manifest.json");
    let text = std::fs::read(&file).map_err(RunError::io(&file))?;
    serde_json::from_slice(&text)
        .map_err(|e| RunError::Damaged { path: file, reason: e.to_string() })
}
