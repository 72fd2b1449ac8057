//! Rollouts in memory: what an episode was, step by step.

use std::collections::BTreeMap;

use ndarray::{Array2, ArrayView4};
use rl755_env::{EnvSpec, ObservationBuffer, Space};
use rl755_run::Digest;

/// One episode as it was seen in the environment.
///
/// Step `t` holds the observation that its action was chosen from (the frame *before* the
/// action), the action, and the reward of that action. What followed the last action is not kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// The environment it comes from.
    pub environment: EnvSpec,
    /// The seed of the environment's reset.
    pub seed: u64,
    /// The name of the policy that acted.
    pub policy: String,
    /// `[steps, …]`, one observation of the environment's space after another.
    pub observations: ObservationBuffer,
    /// `[steps, action_width]`.
    pub actions: Array2<f32>,
    /// `[steps]`.
    pub rewards: Vec<f32>,
    /// The task ended after the last action.
    pub terminated: bool,
    /// The episode was cut off after the last action: by the environment's time limit, or by the
    /// collector's.
    pub truncated: bool,
}

impl Rollout {
    /// How many actions were taken.
    pub fn steps(&self) -> usize {
        self.rewards.len()
    }

    /// The frames as `[steps, height, width, channel]`, or `None` where observations are vectors.
    pub fn frames(&self) -> Option<ArrayView4<'_, u8>> {
        let (Space::Image { height, width, channels }, ObservationBuffer::U8(bytes)) =
            (&self.environment.observation_space, &self.observations)
        else {
            return None;
        };
        ArrayView4::from_shape((self.steps(), *height, *width, *channels), bytes).ok()
    }
}

/// One episode with its observations replaced by an encoder's latents.
///
/// The alignment is that of [`Rollout`].
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedRollout {
    /// The environment it comes from; the spec is that of the raw rollout.
    pub environment: EnvSpec,
    /// The seed of the environment's reset.
    pub seed: u64,
    /// The name of the policy that acted.
    pub policy: String,
    /// The digest of the encoder's weights, name and settings.
    pub encoder: Digest,
    /// Posterior means, `[steps, latent]`.
    pub latents: Array2<f32>,
    /// Posterior standard deviations, `[steps, latent]`; zero for a deterministic encoder.
    pub std_devs: Array2<f32>,
    /// What else the encoder says of each observation, by name, `[steps, width]` each.
    pub extras: BTreeMap<String, Array2<f32>>,
    /// `[steps, action_width]`.
    pub actions: Array2<f32>,
    /// `[steps]`.
    pub rewards: Vec<f32>,
    /// The task ended after the last action.
    pub terminated: bool,
    /// The episode was cut off after the last action.
    pub truncated: bool,
}

impl EncodedRollout {
    /// How many actions were taken.
    pub fn steps(&self) -> usize {
        self.rewards.len()
    }
}
