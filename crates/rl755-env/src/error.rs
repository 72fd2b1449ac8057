//! What goes wrong with environments.

use crate::{Space, SpaceError, space::Floats};

/// An environment could not be made, reset or stepped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvError {
    /// No environment of that id is registered.
    #[error("no environment is called `{id}`{}; known are {}",
        nearest.as_ref().map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default(), known.join(", "))]
    UnknownId {
        /// The id that was asked for.
        id: String,
        /// The registered id closest to it.
        nearest: Option<String>,
        /// Every registered id.
        known: Vec<String>,
    },
    /// Options behind an id that the environment does not take.
    #[error("{env}: {reason}")]
    Options {
        /// The environment's id.
        env: String,
        /// What is wrong, with the name or the value.
        reason: String,
    },
    /// An action that the action space does not contain.
    #[error("{env}: action {} is not in {space}: {reason}", Floats(action))]
    InvalidAction {
        /// The environment's id.
        env: String,
        /// The action, as given.
        action: Vec<f32>,
        /// The action space.
        space: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The observation buffer does not fit the observation space.
    #[error("{env}: the observation buffer holds {got}, the observation space needs {expected}")]
    ObservationBuffer {
        /// The environment's id.
        env: String,
        /// What the caller gave.
        got: String,
        /// What the space needs.
        expected: String,
    },
    /// `step` before `reset`, or after the end of an episode.
    #[error("{env}: step was called {when}; call reset first")]
    ResetNeeded {
        /// The environment's id.
        env: String,
        /// `before the first reset` or `after the episode ended`.
        when: &'static str,
    },
    /// One of several environments stepped together failed.
    #[error("environment {index} of {count}: {reason}")]
    InVector {
        /// Its index.
        index: usize,
        /// How many there are.
        count: usize,
        /// What it reported.
        reason: Box<EnvError>,
    },
    /// A slice handed to a [`VectorEnv`](crate::VectorEnv) has the wrong length.
    #[error("{what} has {got} elements; {count} environments need {expected}")]
    VectorLength {
        /// Which argument.
        what: &'static str,
        /// Its length.
        got: usize,
        /// The length it should have.
        expected: usize,
        /// How many environments there are.
        count: usize,
    },
    /// A [wrapper](crate::wrappers) does not fit the environment.
    #[error("{wrapper} cannot wrap {env}: {reason}")]
    Wrapper {
        /// The wrapper's name.
        wrapper: &'static str,
        /// The environment's id.
        env: String,
        /// Why not.
        reason: String,
    },
    /// Anything an environment of another crate reports.
    #[error("{env}: {message}")]
    Other {
        /// The environment's id.
        env: String,
        /// What happened.
        message: String,
    },
}

impl EnvError {
    /// [`EnvError::InvalidAction`] for an action that failed [`Space::check`].
    pub fn invalid_action(env: &str, action: &[f32], space: &Space, reason: &SpaceError) -> Self {
        Self::InvalidAction {
            env: env.to_owned(),
            action: action.to_vec(),
            space: space.to_string(),
            reason: reason.to_string(),
        }
    }
}
