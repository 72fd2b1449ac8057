//! What goes wrong with encoders.

use rl755_run::{RunError, TrainingError};

/// An encoder could not be made, trained, loaded or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncoderError {
    /// The observation space does not suit the model.
    #[error("{encoder} takes {expected}, not {found}")]
    Space {
        /// The encoder's name.
        encoder: String,
        /// What it takes.
        expected: String,
        /// What it was given.
        found: String,
    },
    /// A batch that is not a whole number of observations, or of another type or width.
    #[error("the batch holds {found}, the encoder needs {expected}")]
    Batch {
        /// What was given.
        found: String,
        /// What is needed.
        expected: String,
    },
    /// The model's config has an unknown field or a bad value.
    #[error("config of {encoder}: {reason}")]
    Config {
        /// The encoder's name.
        encoder: String,
        /// What is wrong, with the value.
        reason: String,
    },
    /// No encoder of that name is registered.
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
