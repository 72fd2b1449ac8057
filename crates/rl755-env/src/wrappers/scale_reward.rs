//! Rewards on another scale.

use super::misfit;
use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Scene3d, Step};

/// Multiplies rewards by a factor, as Gymnasium's `TransformReward` does with such a function.
#[doc(alias = "TransformReward")]
#[derive(Debug)]
pub struct ScaleReward<E> {
    env: E,
    spec: EnvSpec,
    factor: f64,
}

impl<E: Env> ScaleReward<E> {
    /// Multiplies the rewards of `env` by `factor`.
    ///
    /// # Errors
    /// When `factor` is not finite.
    pub fn new(env: E, factor: f64) -> Result<Self, EnvError> {
        if !factor.is_finite() {
            let reason = format!("rewards times {factor} mean nothing");
            return Err(misfit("ScaleReward", env.spec(), reason));
        }
        let rules = format!("{}; rewards times {factor}", env.spec().rules);
        let spec = EnvSpec { rules, ..env.spec().clone() };
        Ok(Self { env, spec, factor })
    }

    /// The wrapped environment.
    pub fn env(&self) -> &E {
        &self.env
    }
}

impl<E: Env> Env for ScaleReward<E> {
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
        Ok(Step { reward: step.reward * self.factor, ..step })
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.env.render()
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        self.env.scene()
    }
}
