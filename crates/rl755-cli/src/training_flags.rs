//! Flags that every training has.

use std::path::PathBuf;

use rl755_nn::OptimizerConfig;
use rl755_run::TrainingConfig;

use crate::flag_values::{at_least_1, object, positive};

// Flags of the trainings by gradient descent. (A doc comment would replace the stage's help text.)
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TrainingFlags {
    /// Where checkpoints, metrics and TensorBoard logs go
    #[arg(long, value_name = "DIR")]
    pub(crate) model_dir: PathBuf,
    /// Batches to train for
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = at_least_1)]
    train_steps: u64,
    /// A checkpoint (`model-001`, `model-002`, …), a validation and a picture every N steps
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = at_least_1)]
    save_every_n_steps: u64,
    /// Metrics, averaged, every N steps
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = at_least_1)]
    log_every_n_steps: u64,
    /// Adam's step size
    #[arg(long, default_value_t = 1e-3, value_name = "F", value_parser = positive)]
    learning_rate: f64,
    /// Gradients of a greater norm, taken together, are scaled down to it
    #[arg(long, value_name = "F", value_parser = positive)]
    max_gradient_norm: Option<f64>,
    /// Settings of the model itself, as JSON: '{"NAME": VALUE}'. What is missing takes its default;
    /// --model names them
    #[arg(long, default_value = "{}", value_name = "JSON", value_parser = object)]
    pub(crate) model_config: serde_json::Value,
    /// What weights, batches and noise are drawn from
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Go on with the run in --model-dir, if there is one
    #[arg(long)]
    pub(crate) resume: bool,
}

impl TrainingFlags {
    pub(crate) fn training(&self) -> TrainingConfig {
        TrainingConfig {
            train_steps: self.train_steps,
            save_every_n_steps: self.save_every_n_steps,
            log_every_n_steps: self.log_every_n_steps,
        }
    }

    /// Adam with these flags, and `defaults` for the rest.
    pub(crate) fn optimizer(&self, defaults: OptimizerConfig) -> OptimizerConfig {
        OptimizerConfig {
            learning_rate: self.learning_rate,
            max_gradient_norm: self.max_gradient_norm.or(defaults.max_gradient_norm),
            ..defaults
        }
    }
}
