//! An environment and the policy that acts in it, step by step.

use std::sync::Arc;

use rl755_env::{Env, EnvRegistry, ObservationBuffer, Step};

use super::trouble::Trouble;
use crate::{Actor, ActorFactory, Subject, frame::Snapshot};

/// What is played by whom.
pub(super) struct Play {
    pub(super) env: Box<dyn Env>,
    pub(super) actor: Box<dyn Actor>,
    pub(super) observation: ObservationBuffer,
    action: Vec<f32>,
    /// The snapshot whose parameters the actor has.
    loaded: Option<Arc<Snapshot>>,
}

impl Play {
    pub(super) fn new(
        envs: &EnvRegistry,
        actors: &dyn ActorFactory,
        subject: &Subject,
    ) -> Result<Self, Trouble> {
        let env = envs.make(&subject.environment)?;
        let actor = actors.make(env.spec(), &subject.actor)?;
        let observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        let action = vec![0.0; env.spec().action_space.width()];
        Ok(Self { env, actor, observation, action, loaded: None })
    }

    /// Begins an episode of the policy `snapshot`.
    pub(super) fn begin(&mut self, snapshot: &Arc<Snapshot>, seed: u64) -> Result<(), Trouble> {
        if !self.loaded.as_ref().is_some_and(|loaded| Arc::ptr_eq(loaded, snapshot)) {
            self.actor.load(&snapshot.parameters)?;
            self.loaded = Some(Arc::clone(snapshot));
        }
        self.env.reset(Some(seed), self.observation.as_mut())?;
        self.actor.begin(seed);
        Ok(())
    }

    /// Chooses the next action.
    pub(super) fn act(&mut self) -> Result<(), Trouble> {
        Ok(self.actor.act(self.observation.as_ref(), &mut self.action)?)
    }

    /// Does it.
    pub(super) fn step(&mut self) -> Result<Step, Trouble> {
        Ok(self.env.step(&self.action, self.observation.as_mut())?)
    }
}
