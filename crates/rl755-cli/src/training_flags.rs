//! Flags that every training has.

use std::path::PathBuf;

use rl755_nn::OptimizerConfig;
use rl755_run::TrainingConfig;

// Flags of the trainings by gradient descent. (A doc comment would replace the stage's help text.)
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TrainingFlags {
    /// Where checkpoints, metrics and TensorBoard logs go
    #[arg(long, value_name = "DIR")]
    pub(crate) model_dir: PathBuf,
    /// Batches to train for
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    train_steps: u64,
    /// A checkpoint (`model-001`, `model-002`, …), a validation and a picture every N steps
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    save_every_n_steps: u64,
    /// Metrics, averaged, every N steps
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    log_every_n_steps: u64,
    /// Adam's step size
    #[arg(long, default_value_t = 1e-3, value_name = "F", value_parser = positive)]
    learning_rate: f64,
    /// Gradients of a greater norm, taken together, are scaled down to it
    #[arg(long, value_name = "F", value_parser = positive)]
    max_gradient_norm: Option<f64>,
    /// Settings of the model itself, as JSON: '{"beta": 2.0}'. What is missing takes its default
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

/// A number greater than 0.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        Ok(value) => Err(format!("{value} is not greater than 0")),
        Err(_) => Err("that is not a number".to_owned()),
    }
}

/// A JSON object.
pub(crate) fn object(text: &str) -> Result<serde_json::Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ serde_json::Value::Object(_)) => Ok(value),
        Ok(_) => Err("that is no JSON object, such as {\"beta\": 2.0}".to_owned()),
        Err(error) => Err(format!("that is no JSON: {error}")),
    }
}

/// A whole number of at least 1, for clap.
pub(crate) fn at_least_1(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("0 is too few; it must be at least 1".to_owned()),
        Ok(value) => Ok(value),
        Err(_) => Err("that is not a whole number of at least 1".to_owned()),
    }
}
