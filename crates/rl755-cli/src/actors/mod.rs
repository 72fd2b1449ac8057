//! Who acts in the worker of a plotter: what the trainings of this crate train.

mod policy;
#[cfg(test)]
mod rollout_parity;
#[cfg(feature = "window")]
pub(crate) mod window;
mod world_model;

use std::path::Path;

use rl755_controller::PolicyConfig;
use rl755_env::EnvSpec;
use rl755_plotter::{Actor, ActorError, ActorFactory, SavedPolicy, Subject};
use rl755_run::{RunError, TrainedRun};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Plugins;
pub(crate) use world_model::ControllerRecipe;

/// What an actor is made from, in the worker: the rest of it are the parameters of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Recipe {
    /// A policy that observes the environment itself.
    Policy(PolicyConfig),
    /// A controller behind a world model.
    Controller(ControllerRecipe),
}

impl Recipe {
    /// What a worker is told to play in `environment`.
    pub(crate) fn subject(
        &self,
        environment: &str,
        parameters: usize,
    ) -> serde_json::Result<Subject> {
        let (environment, actor) = (environment.to_owned(), serde_json::to_value(self)?);
        Ok(Subject { environment, actor, parameters })
    }
}

/// Makes actors of what a program knows by name.
pub(crate) struct Actors<'a> {
    plugins: &'a Plugins,
    models: world_model::Loaded,
}

impl<'a> Actors<'a> {
    pub(crate) fn new(plugins: &'a Plugins) -> Self {
        Self { plugins, models: world_model::Loaded::default() }
    }
}

impl ActorFactory for Actors<'_> {
    fn make(&self, spec: &EnvSpec, recipe: &Value) -> Result<Box<dyn Actor>, ActorError> {
        match Recipe::deserialize(recipe).map_err(ActorError::new)? {
            Recipe::Policy(config) => policy::actor(spec, &config),
            Recipe::Controller(recipe) => {
                let models = self.models.get(self.plugins, &recipe)?;
                world_model::actor(self.plugins, spec, &recipe, models)
            }
        }
    }

    fn of_run(&self, run: &Path, shown: Option<u64>) -> Result<Option<SavedPolicy>, ActorError> {
        let Some(saved) = newest(run).map_err(ActorError::new)? else { return Ok(None) };
        let step = saved.steps().map_err(ActorError::new)?;
        // An earlier one is of a training that was begun anew.
        if shown == Some(step) {
            return Ok(None);
        }
        let (subject, parameters) = match saved.manifest().stage.as_str() {
            POLICY => policy::saved(&saved)?,
            _ => world_model::saved(&saved)?,
        };
        let written = saved.checkpoint().metadata().and_then(|metadata| metadata.modified());
        let made = written.map_err(ActorError::new)?;
        Ok(Some(SavedPolicy { subject, step, made, parameters }))
    }

    #[cfg(feature = "window")]
    fn show_window(
        &self,
        environment: &str,
        states: &std::sync::mpsc::Receiver<Vec<f64>>,
    ) -> Result<(), ActorError> {
        window::show(environment, states).map_err(ActorError::new)
    }
}

/// The stages whose runs have something that acts, as manifests call them.
const POLICY: &str = "train-policy";
const CONTROLLER: &str = "train-controller";

/// The newest checkpoint of a training of something that acts, if it has saved one.
///
/// # Errors
/// When `run` is no such training, or it is damaged.
pub(crate) fn newest(run: &Path) -> Result<Option<TrainedRun>, RunError> {
    match TrainedRun::newest(run, POLICY) {
        Err(RunError::WrongStage { found, .. }) if found == CONTROLLER => {
            TrainedRun::newest(run, CONTROLLER)
        }
        Err(RunError::WrongStage { path, found, .. }) => {
            let expected = format!("{POLICY} or {CONTROLLER}");
            Err(RunError::WrongStage { path, found, expected })
        }
        found => found,
    }
}
