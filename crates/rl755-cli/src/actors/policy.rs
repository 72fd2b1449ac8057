//! A policy that observes the environment itself.

use rl755_controller::{PolicyConfig, TrainedPolicy};
use rl755_env::{EnvSpec, ObservationRef};
use rl755_plotter::{Actor, ActorError, Subject};
use rl755_run::TrainedRun;

use super::Recipe;

/// Plays the likeliest actions.
struct PolicyActor(TrainedPolicy);

/// A policy of the architecture `config`, without parameters yet.
pub(super) fn actor(spec: &EnvSpec, config: &PolicyConfig) -> Result<Box<dyn Actor>, ActorError> {
    let made = || -> Result<TrainedPolicy, Box<dyn std::error::Error + Send + Sync>> {
        let parameters = vec![0.0_f32; config.num_parameters(spec)?];
        Ok(TrainedPolicy::new(spec, &serde_json::to_value(config)?, &parameters)?)
    };
    Ok(Box::new(PolicyActor(made().map_err(ActorError::new)?)))
}

/// The policy in a checkpoint, with its parameters.
pub(super) fn saved(checkpoint: &TrainedRun) -> Result<(Subject, Vec<f32>), ActorError> {
    let (policy, _) = TrainedPolicy::of_checkpoint(checkpoint).map_err(ActorError::new)?;
    let parameters: Vec<f32> = policy.parameters().iter().map(|value| *value as f32).collect();
    let recipe = Recipe::Policy(policy.config().clone());
    let subject = recipe.subject(&policy.spec().id, parameters.len()).map_err(ActorError::new)?;
    Ok((subject, parameters))
}

impl Actor for PolicyActor {
    fn load(&mut self, parameters: &[f32]) -> Result<(), ActorError> {
        self.0.set_parameters(parameters).map_err(ActorError::new)
    }

    fn begin(&mut self, _seed: u64) {}

    fn act(
        &mut self,
        observation: ObservationRef<'_>,
        action: &mut [f32],
    ) -> Result<(), ActorError> {
        self.0.act(observation, action).map_err(ActorError::new)
    }
}
