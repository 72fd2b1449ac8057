//! The [`Env`] trait: what an environment does, in Gymnasium's terms.

use serde::{Deserialize, Serialize};

use crate::{EnvError, ObservationMut, RgbFrame, Scene3d, Space};

/// What a caller must know of an environment before it makes one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvSpec {
    /// Versioned id, `CarRacing-v3`.
    pub id: String,
    /// What `reset` and `step` write.
    pub observation_space: Space,
    /// What `step` takes.
    pub action_space: Space,
    /// Steps after which [`EnvRegistry::make`](crate::EnvRegistry::make) truncates an episode.
    pub max_episode_steps: Option<u32>,
    /// When an episode ends and what is rewarded, in one line; printed beside every score.
    pub rules: String,
}

impl EnvSpec {
    /// Rejects an action that the action space does not contain; for `step` implementations.
    ///
    /// # Errors
    /// [`EnvError::InvalidAction`], naming the offending element.
    pub fn check_action(&self, action: &[f32]) -> Result<(), EnvError> {
        self.action_space.check(action).map_err(|reason| {
            EnvError::invalid_action(&self.id, action, &self.action_space, &reason)
        })
    }

    /// [`EnvError::ResetNeeded`] before the first reset, for `step` implementations.
    pub fn not_reset(&self) -> EnvError {
        EnvError::ResetNeeded { env: self.id.clone(), when: "before the first reset" }
    }

    /// [`EnvError::ResetNeeded`] after an episode's end, for `step` implementations.
    pub fn episode_over(&self) -> EnvError {
        EnvError::ResetNeeded { env: self.id.clone(), when: "after the episode ended" }
    }
}

/// What one step gave, besides the observation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// The reward of this step.
    pub reward: f64,
    /// The episode reached a terminal state of the task.
    pub terminated: bool,
    /// The episode was cut off from outside, as by a time limit.
    pub truncated: bool,
}

impl Step {
    /// Whether the episode is over, and `reset` must come next.
    pub fn done(&self) -> bool {
        self.terminated || self.truncated
    }
}

/// A reinforcement-learning environment.
///
/// Object safe: the toolkit holds `Box<dyn Env>`. Observations are written into the caller's
/// buffer, so that stepping does not allocate.
pub trait Env: Send {
    /// The environment's spaces and rules.
    fn spec(&self) -> &EnvSpec;

    /// Starts an episode and writes its first observation.
    ///
    /// With a seed the random stream starts anew; without, it goes on (as in Gymnasium). The same
    /// seed gives the same episode, bit for bit.
    ///
    /// # Errors
    /// When `observation` has another element type or length than the observation space.
    fn reset(&mut self, seed: Option<u64>, observation: ObservationMut<'_>)
    -> Result<(), EnvError>;

    /// Applies an action and writes the observation that follows it.
    ///
    /// `action` has [`Space::width`] values; a discrete action is its index as a whole number.
    ///
    /// # Errors
    /// On an action that the space does not contain (NaN, wrong width, an index out of range), and
    /// when called before `reset` or after an episode ended.
    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError>;

    /// A picture of the current state for people; `None` from environments that have none.
    ///
    /// # Errors
    /// When called before `reset`.
    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        Ok(None)
    }

    /// The environment in three dimensions, for those who draw it elsewhere; `None` from those that
    /// have only pictures.
    fn scene(&self) -> Option<&dyn Scene3d> {
        None
    }
}

impl<E: Env + ?Sized> Env for Box<E> {
    fn spec(&self) -> &EnvSpec {
        (**self).spec()
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        (**self).reset(seed, observation)
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        (**self).step(action, observation)
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        (**self).render()
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        (**self).scene()
    }
}
