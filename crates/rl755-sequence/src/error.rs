//! What goes wrong with sequence models.

use std::path::PathBuf;

use rl755_data::DatasetError;
use rl755_run::{RunError, TrainingError};

/// A sequence model could not be made, trained, loaded or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SequenceError {
    /// Arrays of a shape that the model does not take.
    #[error("{what} has shape {found:?}, the model needs {expected:?}")]
    Shape {
        /// `latents`, `actions`, `randoms`.
        what: &'static str,
        /// What was given.
        found: Vec<usize>,
        /// What is needed.
        expected: Vec<usize>,
    },
    /// A prediction was asked for before the first step.
    #[error("predict was called before the first step")]
    NothingSeen,
    /// A setting of the training that makes no sense.
    #[error("{field} is {value}; it must be {expected}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        expected: &'static str,
    },
    /// The run has no such checkpoint.
    #[error("{} has no checkpoint {}", run.display(),
        number.map_or_else(String::new, |n| format!("model-{n:03}")))]
    NoCheckpoint {
        /// The run directory.
        run: PathBuf,
        /// The checkpoint; `None` when there is none at all.
        number: Option<u64>,
    },
    /// The model's config has an unknown field or a bad value.
    #[error("config of {model}: {reason}")]
    Config {
        /// The model's name.
        model: String,
        /// What is wrong, with the value.
        reason: String,
    },
    /// The dataset.
    #[error(transparent)]
    Data(#[from] DatasetError),
    /// No sequence model of that name is registered.
    #[error(transparent)]
    Unknown(#[from] rl755_run::UnknownName),
    /// The run directory.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The training.
    #[error(transparent)]
    Training(#[from] TrainingError),
    /// The weights.
    #[error(transparent)]
    Weights(#[from] rl755_nn::WeightsError),
}

impl SequenceError {
    /// The error for a bad config of `model`.
    pub fn config(model: &str, reason: impl std::fmt::Display) -> Self {
        Self::Config { model: model.to_owned(), reason: reason.to_string() }
    }
}
