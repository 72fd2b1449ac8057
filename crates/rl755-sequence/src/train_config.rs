//! What a sequence model is trained with.

use std::path::PathBuf;

use rl755_nn::{Compute, OptimizerConfig};
use rl755_run::{CheckpointPolicy, TrainingConfig};
use serde::{Deserialize, Serialize};

/// The whole training of a sequence model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainSequenceConfig {
    /// The registered name of the model. Default `mdn-rnn`.
    pub model: String,
    /// The model's own hyper-parameters; what is missing takes the model's defaults.
    pub model_config: serde_json::Value,
    /// The encoded dataset: its directory or its manifest.
    pub dataset: PathBuf,
    /// The split to train on. Default `train`.
    pub split: String,
    /// The split to validate on. Default `validation`. Where the dataset has no rollouts in it,
    /// or none of a sequence's length, there is no validation.
    pub validation_split: String,
    /// Batches of the validation split that each checkpoint is measured on: the same ones every
    /// time. Default 8; 0 leaves validation out.
    pub validation_batches: u64,
    /// Adam; `None` takes the model's own
    /// ([`SequenceRegistry::default_optimizer`](crate::SequenceRegistry::default_optimizer)).
    pub optimizer: Option<OptimizerConfig>,
    /// Steps, checkpoints, logging. Default 20,000 steps.
    pub training: TrainingConfig,
    /// Sequences in a step. Default 32 (World Models: 100).
    pub batch_size: usize,
    /// Steps in a sequence. Default 32 (World Models: 999, whole episodes). The transformer never
    /// looks back further than this.
    pub sequence_length: usize,
    /// Whether latents are drawn anew from their posterior for each batch (World Models) or are
    /// the posterior means. No difference for deterministic encoders, whose standard deviations
    /// are 0. Default true.
    pub sample_observations: bool,
    /// Whether to predict the difference between the next latent and the one seen, or the next
    /// latent itself. Default false.
    pub difference_targets: bool,
    /// Bytes of rollouts that are kept in memory; the others are read each time they are visited.
    /// Default 2 GB. The results do not depend on it.
    pub memory_bytes: u64,
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

impl Default for TrainSequenceConfig {
    fn default() -> Self {
        Self {
            model: "mdn-rnn".to_owned(),
            model_config: serde_json::json!({}),
            dataset: PathBuf::new(),
            split: "train".to_owned(),
            validation_split: "validation".to_owned(),
            validation_batches: 8,
            optimizer: None,
            training: TrainingConfig {
                train_steps: 20_000,
                save_every_n_steps: 1_000,
                log_every_n_steps: 100,
            },
            batch_size: 32,
            sequence_length: 32,
            sample_observations: true,
            difference_targets: false,
            memory_bytes: 2_000_000_000,
            reader_threads: 2,
            compute: Compute::default(),
            checkpoints: CheckpointPolicy { keep: Some(5), early_stopping: None },
            init_weights: None,
            seed: 0,
        }
    }
}
