//! Taking every action several times.

use super::misfit;
use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Scene3d, Step};

/// Takes every action several times and adds up the rewards; stops early where the episode ends.
/// The observation is the last one. As Gymnasium's `RepeatAction`.
#[doc(alias = "ActionRepeat")]
#[derive(Debug)]
pub struct RepeatAction<E> {
    env: E,
    spec: EnvSpec,
    num_repeats: u32,
}

impl<E: Env> RepeatAction<E> {
    /// Takes every action of `env` `num_repeats` times. Its spec counts limits in its own steps.
    ///
    /// # Errors
    /// When `num_repeats` is 0.
    pub fn new(env: E, num_repeats: u32) -> Result<Self, EnvError> {
        if num_repeats == 0 {
            return Err(misfit("RepeatAction", env.spec(), "actions taken 0 times do nothing"));
        }
        let inner = env.spec();
        let spec = EnvSpec {
            max_episode_steps: inner.max_episode_steps.map(|steps| steps.div_ceil(num_repeats)),
            rules: format!("{}; every action is taken {num_repeats} times", inner.rules),
            ..inner.clone()
        };
        Ok(Self { env, spec, num_repeats })
    }

    /// The wrapped environment.
    pub fn env(&self) -> &E {
        &self.env
    }
}

impl<E: Env> Env for RepeatAction<E> {
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

    fn step(
        &mut self,
        action: &[f32],
        mut observation: ObservationMut<'_>,
    ) -> Result<Step, EnvError> {
        let mut total = Step::default();
        for _ in 0..self.num_repeats {
            let step = self.env.step(action, observation.reborrow())?;
            total = Step { reward: total.reward + step.reward, ..step };
            if total.done() {
                break;
            }
        }
        Ok(total)
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.env.render()
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        self.env.scene()
    }
}
