//! A trained policy, ready to act.

use std::path::{Path, absolute};

use rl755_env::{EnvSpec, ObservationRef};
use rl755_run::{Input, Random, TrainedRun, digest_file};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    config::{PolicyConfig, TrainPolicyConfig},
    policy::Policy,
};
use crate::{ControllerError, tensor_file::read_tensors};

/// The name of the stage in manifests.
pub(crate) const STAGE: &str = "train-policy";

/// The file of a checkpoint with the policy's parameters, and what its training remembers.
pub(crate) const POLICY: &str = "policy.safetensors";

/// `config` of a policy's manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunConfig {
    /// How it was trained, with every default filled in.
    pub(crate) training: TrainPolicyConfig,
    /// What it acts in.
    pub(crate) environment: EnvSpec,
}

/// A policy with its parameters, ready to act.
#[derive(Clone, Debug)]
pub struct TrainedPolicy {
    config: PolicyConfig,
    policy: Policy,
    parameters: Vec<f64>,
    spec: EnvSpec,
    /// As the policy chooses it.
    action: Vec<f64>,
    observation: Vec<f64>,
    memory: Vec<f64>,
}

impl TrainedPolicy {
    /// The architecture `recipe`, a [`PolicyConfig`] as JSON, in the environment of `spec`, with
    /// `parameters` as a training's spectators are given them.
    ///
    /// # Errors
    /// When the recipe is none, does not suit the environment, or needs another number of
    /// parameters.
    pub fn new<T: Copy + Into<f64>>(
        spec: &EnvSpec,
        recipe: &Value,
        parameters: &[T],
    ) -> Result<Self, ControllerError> {
        let config: PolicyConfig = serde_json::from_value(recipe.clone()).map_err(|error| {
            ControllerError::Config { controller: "a policy".to_owned(), reason: error.to_string() }
        })?;
        let policy = Policy::new(spec, &config)?;
        let mut trained = Self {
            action: vec![0.0; policy.distribution().action_width()],
            config,
            policy,
            parameters: Vec::new(),
            spec: spec.clone(),
            observation: Vec::new(),
            memory: Vec::new(),
        };
        trained.set_parameters(parameters)?;
        Ok(trained)
    }

    /// Reads the finished training in `path`. Also gives what a manifest lists as its input.
    ///
    /// # Errors
    /// When there is none, or a file of it is damaged.
    pub fn open(path: &Path) -> Result<(Self, Input), ControllerError> {
        Self::of_checkpoint(&TrainedRun::open(path, STAGE, None)?)
    }

    /// Reads a checkpoint of a training, finished or not, as [`open`](Self::open) does.
    ///
    /// # Errors
    /// When it is none of a policy, or a file of it is damaged.
    pub fn of_checkpoint(run: &TrainedRun) -> Result<(Self, Input), ControllerError> {
        let RunConfig { training, environment } = run.config()?;
        let file = run.checkpoint().join(POLICY);
        let mut tensors = read_tensors(&file).map_err(ControllerError::io(&file))?;
        let damaged = |reason: String| ControllerError::Checkpoint { path: file.clone(), reason };
        let (_, parameters) = tensors
            .remove("parameters")
            .ok_or_else(|| damaged("it has no parameters".to_owned()))?;
        let recipe = serde_json::to_value(&training.policy).map_err(|e| damaged(e.to_string()))?;
        let trained = Self::new(&environment, &recipe, &parameters)?;
        let digest = digest_file(&file).map_err(ControllerError::io(&file))?;
        let path = absolute(run.path()).map_err(ControllerError::io(run.path()))?;
        Ok((trained, Input { path, digest }))
    }

    /// The environment that it acts in.
    pub fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    /// Its architecture.
    pub fn config(&self) -> &PolicyConfig {
        &self.config
    }

    /// Its parameters.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// Goes on with other parameters.
    ///
    /// # Errors
    /// When they are too many or too few; it keeps what it has.
    pub fn set_parameters<T: Copy + Into<f64>>(
        &mut self,
        parameters: &[T],
    ) -> Result<(), ControllerError> {
        let expected = self.policy.num_parameters();
        if parameters.len() != expected {
            return Err(ControllerError::Misfit {
                what: "parameters",
                one: "the policy".to_owned(),
                one_size: expected.to_string(),
                other: "what it is given".to_owned(),
                other_size: parameters.len().to_string(),
            });
        }
        self.parameters.clear();
        self.parameters.extend(parameters.iter().map(|value| (*value).into()));
        Ok(())
    }

    /// Writes the likeliest action on `observation`, the mean of a Gaussian, into `action`.
    ///
    /// # Errors
    /// When the observation is none of the environment's, or an action has another length.
    pub fn act(
        &mut self,
        observation: ObservationRef<'_>,
        action: &mut [f32],
    ) -> Result<(), ControllerError> {
        self.choose(observation, None, action)
    }

    /// Writes a random action on `observation`, as in training, into `action`.
    ///
    /// # Errors
    /// When the observation is none of the environment's, or an action has another length.
    pub fn sample(
        &mut self,
        observation: ObservationRef<'_>,
        random: &mut Random,
        action: &mut [f32],
    ) -> Result<(), ControllerError> {
        self.choose(observation, Some(random), action)
    }

    fn choose(
        &mut self,
        observation: ObservationRef<'_>,
        random: Option<&mut Random>,
        action: &mut [f32],
    ) -> Result<(), ControllerError> {
        let misfit = |what, width: usize, other: &str, other_size| ControllerError::Misfit {
            what,
            one: "the policy".to_owned(),
            one_size: format!("{width} numbers"),
            other: other.to_owned(),
            other_size,
        };
        let width = self.spec.observation_space.width();
        let shown = |size| misfit("observation", width, "what it is shown", size);
        let values = match observation {
            ObservationRef::F32(values) if values.len() == width => values,
            ObservationRef::F32(values) => return Err(shown(format!("{} numbers", values.len()))),
            ObservationRef::U8(bytes) => return Err(shown(format!("{} bytes", bytes.len()))),
        };
        let width = self.spec.action_space.width();
        if action.len() != width {
            let size = format!("{} numbers", action.len());
            return Err(misfit("action", width, "the buffer", size));
        }
        self.observation.clear();
        self.observation.extend(values.iter().map(|value| f64::from(*value)));
        let Self { policy, parameters, observation, memory, .. } = self;
        policy.act(parameters, observation, random, &mut self.action, action, memory);
        Ok(())
    }
}
