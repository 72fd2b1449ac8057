//! What an encoder is trained with.

use std::path::PathBuf;

use rl755_nn::{Compute, OptimizerConfig};
use rl755_run::{CheckpointPolicy, TrainingConfig};
use serde::{Deserialize, Serialize};

/// The whole training of an encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainEncoderConfig {
    /// The registered name of the model. Default `vae-64`.
    pub model: String,
    /// The model's own hyper-parameters; what is missing takes the model's defaults.
    pub model_config: serde_json::Value,
    /// The raw dataset: its directory or its manifest.
    pub dataset: PathBuf,
    /// The split to train on. Default `train`.
    pub split: String,
    /// The split to validate on, where the dataset has rollouts in it. Default `validation`.
    pub validation_split: String,
    /// Observations of the validation split that each checkpoint is measured on: the same ones
    /// every time. 0 leaves validation out. Default 512.
    pub validation_observations: usize,
    /// Adam. Its learning rate is 1e-3 in the original project, 1e-4 in World Models.
    pub optimizer: OptimizerConfig,
    /// Steps, checkpoints, logging. Default 100,000 steps.
    pub training: TrainingConfig,
    /// Observations in a step. Default 256 (World Models: 100).
    pub batch_size: usize,
    /// Random observations taken each time a rollout is read. Default 100.
    pub obs_sampled_per_rollout: usize,
    /// Bytes of observations, as they are stored, that are shuffled together. Default 64 MB.
    pub shuffle_buffer_bytes: u64,
    /// Threads that read rollouts. Default 2. The results do not depend on it.
    pub reader_threads: usize,
    /// Further devices, precision, numeric checks.
    pub compute: Compute,
    /// Which checkpoints are kept, and when it stops early. By default the newest 5 and the best.
    pub checkpoints: CheckpointPolicy,
    /// A safetensors file of the same architecture (such as a checkpoint's) whose weights it starts
    /// from, in place of weights drawn at random.
    pub init_weights: Option<PathBuf>,
    /// What weights, batches and noise derive from. Default 0.
    pub seed: u64,
}

impl Default for TrainEncoderConfig {
    fn default() -> Self {
        Self {
            model: "vae-64".to_owned(),
            model_config: serde_json::json!({}),
            dataset: PathBuf::new(),
            split: "train".to_owned(),
            validation_split: "validation".to_owned(),
            validation_observations: 512,
            optimizer: OptimizerConfig::default(),
            training: TrainingConfig {
                train_steps: 100_000,
                save_every_n_steps: 5_000,
                log_every_n_steps: 100,
            },
            batch_size: 256,
            obs_sampled_per_rollout: 100,
            shuffle_buffer_bytes: 64_000_000,
            reader_threads: 2,
            compute: Compute::default(),
            checkpoints: CheckpointPolicy { keep: Some(5), early_stopping: None },
            init_weights: None,
            seed: 0,
        }
    }
}
