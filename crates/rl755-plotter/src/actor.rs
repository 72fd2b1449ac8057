//! Who acts in the environments that the worker plays.

use std::{error::Error, path::Path, sync::mpsc::Receiver, time::SystemTime};

use rl755_env::{EnvSpec, ObservationRef, RgbFrame};
use serde_json::Value;

use crate::Subject;

/// Acts in one environment with the parameters of a snapshot.
pub trait Actor {
    /// Takes over `parameters`, as many as its [`Subject`] says.
    ///
    /// # Errors
    /// When they cannot be those of this actor.
    fn load(&mut self, parameters: &[f32]) -> Result<(), ActorError>;

    /// An episode begins: whatever is remembered of the one before is forgotten, a recurrent
    /// state too. What is random follows from `seed`.
    fn begin(&mut self, seed: u64);

    /// Writes the action for `observation`, of the width of the action space.
    ///
    /// # Errors
    /// When it cannot act.
    fn act(
        &mut self,
        observation: ObservationRef<'_>,
        action: &mut [f32],
    ) -> Result<(), ActorError>;

    /// What it made of the last observation, such as its `reconstruction`, and what it makes up,
    /// such as a `dream`: pictures by name, always the same names. Called only while somebody looks.
    fn pictures(&mut self) -> Vec<(&'static str, RgbFrame)> {
        Vec::new()
    }
}

/// Makes the actors of a worker, and what else programs bring to it.
pub trait ActorFactory: Sync {
    /// Makes the actor that `recipe` (a [`Subject::actor`]) describes for an environment.
    ///
    /// # Errors
    /// When it cannot be made.
    fn make(&self, spec: &EnvSpec, recipe: &Value) -> Result<Box<dyn Actor>, ActorError>;

    /// The newest policy in the directory of a run that some other process trains or trained, unless
    /// that is the one of step `shown`. Asked every few seconds.
    ///
    /// # Errors
    /// When the run cannot be read.
    fn of_run(&self, run: &Path, shown: Option<u64>) -> Result<Option<SavedPolicy>, ActorError> {
        let _ = (run, shown);
        Ok(None)
    }

    /// Opens a window in which `environment` goes through `states`, each a
    /// [`Scene3d::physics_state`](rl755_env::Scene3d::physics_state), until it is closed or there come
    /// no more. It is called in the main thread, once.
    ///
    /// # Errors
    /// When there can be no window.
    fn show_window(
        &self,
        environment: &str,
        states: &Receiver<Vec<f64>>,
    ) -> Result<(), ActorError> {
        let _ = (environment, states);
        Err(ActorError::new("this program opens no windows"))
    }
}

/// A policy that was read from a run's directory.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedPolicy {
    /// What is played.
    pub subject: Subject,
    /// Steps of training before it was saved.
    pub step: u64,
    /// When it was saved.
    pub made: SystemTime,
    /// Its parameters.
    pub parameters: Vec<f32>,
}

/// An actor could not be made, loaded or asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ActorError(Box<dyn Error + Send + Sync>);

impl ActorError {
    /// Wraps what went wrong: an error, or a text.
    pub fn new(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(reason.into())
    }
}
