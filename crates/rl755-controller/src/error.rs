//! What goes wrong with controllers.

use std::{io, path::PathBuf};

use rl755_data::PolicyError;
use rl755_encoder::EncoderError;
use rl755_env::EnvError;
use rl755_run::{MetricsError, RunError, SettingError, TrainingError};
use rl755_sequence::SequenceError;

use crate::CmaEsError;

/// A controller could not be made, trained, loaded, evaluated or filmed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// The controller's config has an unknown field or a bad value.
    #[error("config of {controller}: {reason}")]
    Config {
        /// The controller's name.
        controller: String,
        /// What is wrong, with the value.
        reason: String,
    },
    /// The controller cannot act in this action space.
    #[error("{controller} cannot act in {space}: {reason}")]
    ActionSpace {
        /// The controller's name.
        controller: String,
        /// The action space.
        space: String,
        /// Why not.
        reason: String,
    },
    /// A policy without a world model sees vectors, and the environment has none.
    #[error(
        "a policy sees vectors, and an observation of {env} is {space}; rl755-train-controller looks \
         at frames through an encoder"
    )]
    NoVector {
        /// The environment's id.
        env: String,
        /// Its observation space.
        space: String,
    },
    /// A setting that nothing can be done with.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Parts of a world model, or a world model and an environment, do not fit together.
    #[error("{what} does not fit: {one} has {one_size}, {other} has {other_size}")]
    Misfit {
        /// `latent`, `action`, `observation`, `parameters`.
        what: &'static str,
        /// One part.
        one: String,
        /// What it has.
        one_size: String,
        /// The other part.
        other: String,
        /// What that has.
        other_size: String,
    },
    /// A controller or sequence model is given another model than the one it was trained with.
    #[error("{dependent} was trained with the {kind} {expected}, not with {found}")]
    OtherModel {
        /// What was trained: `the controller`, `the sequence model`.
        dependent: &'static str,
        /// `encoder` or `sequence model`.
        kind: &'static str,
        /// The model it was trained with: name and digest.
        expected: String,
        /// The model it is given.
        found: String,
    },
    /// A file of a checkpoint is missing or damaged.
    #[error("{}: {reason}", path.display())]
    Checkpoint {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// An episode could not be filmed.
    #[error(transparent)]
    Video(#[from] rl755_video::VideoError),
    /// An environment or a model panicked.
    #[error("a thread that plays episodes panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// A request to stop came before all episodes were played.
    #[error("interrupted")]
    Interrupted,
    /// No controller of that name is registered.
    #[error(transparent)]
    Unknown(#[from] rl755_run::UnknownName),
    /// The environment.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// The encoder.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// The sequence model.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The evolution.
    #[error(transparent)]
    Evolution(#[from] CmaEsError),
    /// The run directory.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The training loop.
    #[error(transparent)]
    Training(TrainingError),
    /// The metrics.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl ControllerError {
    /// Names the path that an input or output error happened at.
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

impl From<TrainingError> for ControllerError {
    /// Takes an error of this crate's trainee out of the loop's wrapping.
    fn from(error: TrainingError) -> Self {
        match error {
            TrainingError::Trainee(inner) => match inner.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::Training(TrainingError::Trainee(other)),
            },
            other => Self::Training(other),
        }
    }
}
