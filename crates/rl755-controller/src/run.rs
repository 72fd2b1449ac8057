//! A controller's run directory: what its manifest must say for the controller to be used.

use std::path::{Path, PathBuf, absolute};

use rl755_env::EnvSpec;
use rl755_run::{Input, RunError, TrainedRun, digest_file};
use serde::{Deserialize, Serialize};

use crate::{
    ControllerError, TrainControllerConfig, WorldModelIdentity, tensor_file::read_tensors,
};

/// The name of the stage in manifests.
pub(crate) const STAGE: &str = "train-controller";

/// The file of a checkpoint with the controller's parameters.
pub(crate) const PARAMETERS: &str = "controller.safetensors";

/// `config` of a controller's manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunConfig {
    /// How it was trained, with every default filled in.
    pub(crate) training: TrainControllerConfig,
    /// What it looks through.
    pub(crate) models: WorldModelIdentity,
    /// What it acts in.
    pub(crate) environment: EnvSpec,
}

/// A trained controller on disk.
#[derive(Clone, Debug)]
pub struct ControllerRun {
    /// Its run directory, as an absolute path, with the digest of its parameters.
    pub input: Input,
    /// How it was trained.
    pub training: TrainControllerConfig,
    /// The models it was trained with, the only ones it is any good with.
    pub models: WorldModelIdentity,
    /// The run directory of its encoder, as it was given in training.
    pub encoder: PathBuf,
    /// The run directory of its sequence model, if it has one.
    pub sequence: Option<PathBuf>,
    /// The mean of the last generation's distribution: what is evaluated.
    pub parameters: Vec<f32>,
}

impl ControllerRun {
    /// Reads the finished training in `path`.
    ///
    /// # Errors
    /// When there is none, or a file of it is damaged.
    pub fn open(path: &Path) -> Result<Self, ControllerError> {
        Self::of_checkpoint(&TrainedRun::open(path, STAGE, None)?)
    }

    /// Reads a checkpoint of a training, finished or not.
    ///
    /// # Errors
    /// When it is none of a controller, or a file of it is damaged.
    pub fn of_checkpoint(run: &TrainedRun) -> Result<Self, ControllerError> {
        let path = run.path();
        let RunConfig { training, models, .. } = run.config()?;
        let mut inputs = run.manifest().inputs.iter().map(|input| input.path.clone());
        let encoder = inputs.next().ok_or_else(|| RunError::Damaged {
            path: path.join("manifest.json"),
            reason: "it names no encoder".to_owned(),
        })?;
        let file = run.checkpoint().join(PARAMETERS);
        let mut tensors = read_tensors(&file).map_err(ControllerError::io(&file))?;
        let (_, mean) = tensors.remove("mean").ok_or_else(|| ControllerError::Checkpoint {
            path: file.clone(),
            reason: "it has no mean".to_owned(),
        })?;
        let parameters = mean.into_iter().map(|value| value as f32).collect();
        let sequence = inputs.next();
        let digest = digest_file(&file).map_err(ControllerError::io(&file))?;
        let input = Input { path: absolute(path).map_err(ControllerError::io(path))?, digest };
        Ok(Self { input, training, models, encoder, sequence, parameters })
    }
}
