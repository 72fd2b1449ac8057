//! What goes wrong with sequence models.

use rl755_data::DatasetError;
use rl755_run::{RunError, SettingError, TrainingError};

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
    /// The model cannot fill in latents.
    #[error("the model cannot fill in latents; `infilling` can")]
    CannotFill,
    /// A setting that cannot be worked with.
    #[error(transparent)]
    Setting(#[from] SettingError),
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
