//! What goes wrong with encoders.

use std::{collections::BTreeMap, path::PathBuf};

use rl755_data::{DatasetError, PartError, ShardError};
use rl755_run::{ModelIdentity, RunError, SettingError, TrainingError};

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
    /// The encoder gives other extras than it says.
    #[error("{encoder} gives the extras {found:?}, it should give {expected:?}")]
    Extras {
        /// The encoder's name.
        encoder: String,
        /// Names and widths of what it gave.
        found: BTreeMap<String, usize>,
        /// What it said it would give.
        expected: BTreeMap<String, usize>,
    },
    /// A setting of the stage that cannot be worked with.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// No encoder of that name is registered.
    #[error(transparent)]
    Unknown(#[from] rl755_run::UnknownName),
    /// Two things that must fit each other do not.
    #[error("the encoder in {} takes observations {expected}, the dataset has {found}", path.display())]
    Misfit {
        /// The encoder's run directory.
        path: PathBuf,
        /// The space it was trained on.
        expected: String,
        /// The dataset's space.
        found: String,
    },
    /// Latents are those of another encoder.
    #[error("no checkpoint in {} is the encoder that made the latents, {identity}", path.display())]
    OtherEncoder {
        /// The encoder's run directory.
        path: PathBuf,
        /// The encoder that is needed.
        identity: ModelIdentity,
    },
    /// The run directory.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The training.
    #[error(transparent)]
    Training(#[from] TrainingError),
    /// The weights.
    #[error(transparent)]
    Weights(#[from] rl755_nn::WeightsError),
    /// The dataset that is read.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// The encoded dataset that is written.
    #[error(transparent)]
    Part(#[from] PartError),
    /// A shard of it.
    #[error(transparent)]
    Shard(#[from] ShardError),
}
