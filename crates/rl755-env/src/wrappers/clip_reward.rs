//! Rewards within bounds.

use super::misfit;
use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Scene3d, Step};

/// Keeps rewards within bounds, as Gymnasium's `ClipReward` does.
#[derive(Debug)]
pub struct ClipReward<E> {
    env: E,
    spec: EnvSpec,
    min_reward: f64,
    max_reward: f64,
}

impl<E: Env> ClipReward<E> {
    /// Raises rewards of `env` below `min_reward` to it and lowers those above `max_reward`. A side
    /// that is infinite is open.
    ///
    /// # Errors
    /// When `min_reward` is above `max_reward`, when either is NaN, or when no reward is finite.
    pub fn new(env: E, min_reward: f64, max_reward: f64) -> Result<Self, EnvError> {
        // False for NaN.
        let ordered = min_reward <= max_reward;
        if !ordered || min_reward == f64::INFINITY || max_reward == f64::NEG_INFINITY {
            let reason = format!("no reward is within {min_reward} and {max_reward}");
            return Err(misfit("ClipReward", env.spec(), reason));
        }
        let rules =
            format!("{}; rewards are kept within {min_reward} and {max_reward}", env.spec().rules);
        let spec = EnvSpec { rules, ..env.spec().clone() };
        Ok(Self { env, spec, min_reward, max_reward })
    }

    /// The wrapped environment.
    pub fn env(&self) -> &E {
        &self.env
    }
}

impl<E: Env> Env for ClipReward<E> {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        self.env.reset(seed, observation)
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let step = self.env.step(action, observation)?;
        Ok(Step { reward: step.reward.clamp(self.min_reward, self.max_reward), ..step })
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.env.render()
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        self.env.scene()
    }
}
