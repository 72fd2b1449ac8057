//! Cutting episodes off after a number of steps.

use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Scene3d, Step};

/// Truncates the episodes of another environment, as Gymnasium's wrapper of that name does.
///
/// The step that reaches the limit reports [`Step::truncated`]; until the next reset, further steps
/// are refused.
#[derive(Debug)]
pub struct TimeLimit<E> {
    env: E,
    spec: EnvSpec,
    max_steps: u32,
    taken: u32,
}

impl<E: Env> TimeLimit<E> {
    /// Truncates the episodes of `env` after `max_steps` steps; after 0, every step is refused.
    pub fn new(env: E, max_steps: u32) -> Self {
        let spec = EnvSpec { max_episode_steps: Some(max_steps), ..env.spec().clone() };
        Self { env, spec, max_steps, taken: 0 }
    }

    /// The wrapped environment.
    pub fn env(&self) -> &E {
        &self.env
    }
}

impl<E: Env> Env for TimeLimit<E> {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        self.env.reset(seed, observation)?;
        self.taken = 0;
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        if self.taken >= self.max_steps {
            return Err(self.spec.episode_over());
        }
        let mut step = self.env.step(action, observation)?;
        self.taken += 1;
        step.truncated |= self.taken >= self.max_steps;
        Ok(step)
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.env.render()
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        self.env.scene()
    }
}
