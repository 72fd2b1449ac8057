//! Random windows of encoded rollouts, in batches, for training sequence models.

use ndarray::{Array2, Array3, s};
use rl755_run::Random;
use serde::{Deserialize, Serialize};

use crate::{DatasetError, EncodedRollout, Split, visit_order::VisitOrder};

/// How windows are sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowSamplerConfig {
    /// Windows in a batch.
    pub batch_size: usize,
    /// Steps in a window. A model that predicts the next latent needs one more than it takes in.
    pub length: usize,
    /// What the order derives from.
    pub seed: u64,
}

/// A batch of windows: consecutive steps of rollouts.
///
/// Step `t` of a window has the latent that its action was chosen from, the action, and the reward
/// of that action; the latent that followed is that of step `t + 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    /// Posterior means, `[batch, length, latent]`.
    pub latents: Array3<f32>,
    /// Posterior standard deviations, `[batch, length, latent]`.
    pub std_devs: Array3<f32>,
    /// `[batch, length, action_width]`.
    pub actions: Array3<f32>,
    /// `[batch, length]`.
    pub rewards: Array2<f32>,
    /// `[batch, length]`: 1 where the task ended with this step's action, else 0. It is 0 where an
    /// episode was only cut off.
    pub terminals: Array2<f32>,
}

/// Samples windows from a split of encoded rollouts, which it holds in memory.
///
/// Batch `step` depends on the config and `step` alone: training resumes at any step with the
/// batches it would have had. Each epoch visits every rollout once, in a new random order, and
/// takes one window at random from it, each of its windows being as likely as another. Rollouts
/// shorter than a window are left out.
#[derive(Debug)]
pub struct WindowSampler {
    rollouts: Vec<EncodedRollout>,
    too_short: usize,
    config: WindowSamplerConfig,
    order: VisitOrder,
}

impl WindowSampler {
    /// Reads `split` and samples from it.
    ///
    /// # Errors
    /// When the dataset is not encoded, a shard is damaged or cannot be read, no rollout is as long
    /// as a window, or a number in the config is 0.
    pub fn new(split: &Split, config: WindowSamplerConfig) -> Result<Self, DatasetError> {
        split.dataset().expect_encoded()?;
        let path = split.dataset().directory();
        let too_small = |reason| DatasetError::TooSmall { path: path.to_owned(), reason };
        if config.batch_size == 0 || config.length == 0 {
            return Err(too_small("the batch or the window is empty".to_owned()));
        }
        let mut rollouts: Vec<EncodedRollout> = split.rollouts().collect::<Result<_, _>>()?;
        let read = rollouts.len();
        let longest = rollouts.iter().map(EncodedRollout::steps).max().unwrap_or(0);
        rollouts.retain(|rollout| rollout.steps() >= config.length);
        if rollouts.is_empty() {
            return Err(too_small(format!(
                "none of the {read} rollouts of the split `{}` has the {} steps of a window; the \
                 longest has {longest}",
                split.name(),
                config.length,
            )));
        }
        Ok(Self {
            too_short: read - rollouts.len(),
            order: VisitOrder::new(rollouts.len(), config.seed, "window order"),
            rollouts,
            config,
        })
    }

    /// The config it was made with.
    pub fn config(&self) -> &WindowSamplerConfig {
        &self.config
    }

    /// The rollouts it samples from, in the split's order.
    pub fn rollouts(&self) -> &[EncodedRollout] {
        &self.rollouts
    }

    /// How many rollouts were left out because they are shorter than a window.
    pub fn too_short(&self) -> usize {
        self.too_short
    }

    /// Batch `step`, from 0.
    pub fn batch(&self, step: u64) -> Windows {
        let (size, length) = (self.config.batch_size, self.config.length);
        let (latent, action) = (self.rollouts[0].latents.ncols(), self.rollouts[0].actions.ncols());
        let mut windows = Windows {
            latents: Array3::zeros((size, length, latent)),
            std_devs: Array3::zeros((size, length, latent)),
            actions: Array3::zeros((size, length, action)),
            rewards: Array2::zeros((size, length)),
            terminals: Array2::zeros((size, length)),
        };
        for row in 0..size {
            let visit = step * size as u64 + row as u64;
            let rollout = &self.rollouts[self.order.item(visit)];
            let steps = rollout.steps();
            let start =
                Random::derived(self.config.seed, "window start", visit).below(steps - length + 1);
            let range = s![start..start + length, ..];
            windows.latents.slice_mut(s![row, .., ..]).assign(&rollout.latents.slice(range));
            windows.std_devs.slice_mut(s![row, .., ..]).assign(&rollout.std_devs.slice(range));
            windows.actions.slice_mut(s![row, .., ..]).assign(&rollout.actions.slice(range));
            for (to, from) in windows.rewards.row_mut(row).iter_mut().zip(&rollout.rewards[start..])
            {
                *to = *from;
            }
            if rollout.terminated && start + length == steps {
                windows.terminals[[row, length - 1]] = 1.0;
            }
        }
        windows
    }
}
