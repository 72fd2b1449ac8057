//! Random windows of encoded rollouts, in batches, for training sequence models.

use std::sync::{OnceLock, atomic::AtomicBool};

use ndarray::{Array2, Array3, s};
use rl755_run::Random;
use serde::{Deserialize, Serialize};

use crate::{
    DatasetError, EncodedRollout, MemoryBudget, Split, StoredRollout,
    sampling::reader_threads::read_all, sampling::visit_order::VisitOrder,
};

/// How windows are sampled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowSamplerConfig {
    /// Windows in a batch.
    pub batch_size: usize,
    /// Steps in a window. A model that predicts the next latent needs one more than it takes in.
    pub length: usize,
    /// Threads that read rollouts, at least 1. Batches do not depend on it.
    pub reader_threads: usize,
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
    /// `[batch]`: whether the last step is one beyond the end of the task, so that the end is among
    /// the steps of a window that models learn from. No rollout has such a step: its latent is that
    /// of the step before, and the rest is 0.
    pub beyond_end: Vec<bool>,
}

/// Samples windows from a split of encoded rollouts.
///
/// Batch `step` depends on the dataset, the config and `step` alone: training resumes at any step
/// with the batches it would have had. Each epoch visits every rollout once, in a new random order,
/// and takes one window at random from it, each of its windows, the last one included, being as
/// likely as another. Where the task ended, there is one window more, which goes one step beyond
/// the end ([`Windows::beyond_end`]); windows of a single step do not. Rollouts without a window are
/// left out: those that are too short.
///
/// Rollouts are kept in memory from their first visit on, as far as the budget has room for them;
/// the others are read at each visit. Beside the budget, a sampler holds at most
///
/// ```text
/// reader_threads · (the longest record + its rollout)
/// + 48 bytes for each rollout of the dataset: where it lies, the order of visits, and its place
///   among the kept ones
/// + the batch, twice while it is put together
/// ```
#[derive(Debug)]
pub struct WindowSampler {
    split: Split,
    config: WindowSamplerConfig,
    /// The rollouts of the split that have a window.
    rollouts: Vec<Sampled>,
    order: VisitOrder,
    budget: MemoryBudget,
}

/// A rollout that has a window.
#[derive(Debug)]
struct Sampled {
    index: usize,
    /// Boxed, as few may be kept of very many rollouts.
    kept: OnceLock<Box<Steps>>,
}

/// Consecutive steps of a rollout.
#[derive(Debug)]
struct Steps {
    latents: Array2<f32>,
    std_devs: Array2<f32>,
    actions: Array2<f32>,
    rewards: Vec<f32>,
    /// The task ended with the last of them.
    terminated: bool,
}

impl Steps {
    fn of(rollout: EncodedRollout) -> Self {
        let EncodedRollout { latents, std_devs, actions, rewards, terminated, .. } = rollout;
        Self { latents, std_devs, actions, rewards, terminated }
    }

    /// Bytes that it takes.
    fn bytes(&self) -> u64 {
        let floats =
            self.latents.len() + self.std_devs.len() + self.actions.len() + self.rewards.len();
        (size_of::<Self>() + floats * size_of::<f32>()) as u64
    }

    /// How many windows of `length` steps it has.
    fn windows(&self, length: usize) -> usize {
        let beyond = usize::from(self.terminated && length > 1);
        (self.rewards.len() + 1 + beyond).saturating_sub(length)
    }

    /// Where the window of `length` steps of a visit begins; `random` is the visit's.
    fn start(&self, length: usize, mut random: Random) -> usize {
        random.below(self.windows(length))
    }

    /// The steps that a window of `length` has in common with it.
    fn window(&self, start: usize, length: usize) -> Self {
        let end = (start + length).min(self.rewards.len());
        let range = s![start..end, ..];
        Self {
            latents: self.latents.slice(range).to_owned(),
            std_devs: self.std_devs.slice(range).to_owned(),
            actions: self.actions.slice(range).to_owned(),
            rewards: self.rewards[start..end].to_vec(),
            terminated: self.terminated && end == self.rewards.len(),
        }
    }
}

impl WindowSampler {
    /// Samples from `split`, whose rollouts are kept in memory as far as `budget` allows. Samplers
    /// can share a budget. Reads the rollouts that are a step shorter than a window, as only they
    /// say whether the task ended.
    ///
    /// # Errors
    /// When the dataset is not encoded, no rollout has a window, a number in the config is 0, or a
    /// rollout that is read is damaged.
    pub fn new(
        split: Split,
        config: WindowSamplerConfig,
        budget: MemoryBudget,
    ) -> Result<Self, DatasetError> {
        split.dataset().expect_encoded()?;
        let path = split.dataset().directory();
        let too_small = |reason| DatasetError::TooSmall { path: path.to_owned(), reason };
        if config.batch_size == 0 || config.length == 0 || config.reader_threads == 0 {
            let reason = "a batch, a window and the reader threads cannot be 0";
            return Err(too_small(reason.to_owned()));
        }
        if split.is_empty() {
            return Err(too_small(format!("the split `{}` has no rollouts", split.name())));
        }
        let may_have = |&index: &usize| split.steps(index) + 1 >= config.length;
        let mut rollouts = Vec::with_capacity((0..split.len()).filter(may_have).count());
        for index in (0..split.len()).filter(may_have) {
            // One step short, it has the window that goes beyond its end, if the task ended.
            let has_window = split.steps(index) >= config.length
                || config.length > 1 && split.rollout::<EncodedRollout>(index)?.terminated;
            if has_window {
                rollouts.push(Sampled { index, kept: OnceLock::new() });
            }
        }
        if rollouts.is_empty() {
            return Err(too_small(format!(
                "none of the {} rollouts of the split `{}` has the {} steps of a window; the \
                 longest has {}",
                split.len(),
                split.name(),
                config.length,
                (0..split.len()).map(|index| split.steps(index)).max().unwrap_or(0),
            )));
        }
        let order = VisitOrder::new(rollouts.len(), config.seed, "window order");
        Ok(Self { split, config, rollouts, order, budget })
    }

    /// The config it was made with.
    pub fn config(&self) -> &WindowSamplerConfig {
        &self.config
    }

    /// How many rollouts it samples from.
    pub fn rollouts(&self) -> usize {
        self.rollouts.len()
    }

    /// How many rollouts were left out because they are too short for a window.
    pub fn too_short(&self) -> usize {
        self.split.len() - self.rollouts.len()
    }

    /// How many rollouts are kept in memory so far.
    pub fn kept(&self) -> usize {
        self.rollouts.iter().filter(|rollout| rollout.kept.get().is_some()).count()
    }

    /// Batch `step`, from 0.
    ///
    /// # Errors
    /// When a shard is damaged or cannot be read.
    pub fn batch(&self, step: u64) -> Result<Windows, DatasetError> {
        let (size, length) = (self.config.batch_size, self.config.length);
        let manifest = self.split.dataset().manifest();
        let latent = manifest.encoder.as_ref().map_or(0, |encoder| encoder.latent_width);
        let mut windows = Windows {
            latents: Array3::zeros((size, length, latent)),
            std_devs: Array3::zeros((size, length, latent)),
            actions: Array3::zeros((size, length, manifest.action_width)),
            rewards: Array2::zeros((size, length)),
            terminals: Array2::zeros((size, length)),
            beyond_end: vec![false; size],
        };
        let mut unread = Vec::new();
        for row in 0..size {
            let visit = step * size as u64 + row as u64;
            let rollout = &self.rollouts[self.order.item(visit)];
            let random = Random::derived(self.config.seed, "window start", visit);
            match rollout.kept.get() {
                Some(steps) => windows.set(row, steps, steps.start(length, random)),
                None => unread.push((row, rollout, random)),
            }
        }
        let (threads, stop) = (self.config.reader_threads, AtomicBool::new(false));
        let read = read_all(threads, unread.len(), &stop, |item, buffer| {
            let (_, rollout, random) = &unread[item];
            self.read(rollout, random.clone(), buffer)
        })?;
        for ((row, ..), window) in unread.iter().zip(read) {
            windows.set(*row, &window, 0);
        }
        Ok(windows)
    }

    /// Reads a rollout, keeps it where there is room, and gives a visit's window.
    fn read(
        &self,
        rollout: &Sampled,
        random: Random,
        buffer: &mut Vec<u8>,
    ) -> Result<Steps, DatasetError> {
        let (dataset, index) = (self.split.dataset(), self.split.range().start + rollout.index);
        let record = dataset.read_record(index, buffer)?;
        let steps = EncodedRollout::from_record(record)
            .and_then(|read| {
                read.check_fits(dataset.manifest())?;
                self.split.check_steps(rollout.index, read.steps())?;
                Ok(Steps::of(read))
            })
            .map_err(|source| dataset.schema_error(index, source))?;
        let length = self.config.length;
        let window = steps.window(steps.start(length, random), length);
        let bytes = steps.bytes();
        if self.budget.take(bytes) && rollout.kept.set(Box::new(steps)).is_err() {
            // The batch has it twice, and another thread was first.
            self.budget.give_back(bytes);
        }
        Ok(window)
    }
}

impl Windows {
    /// Makes `row` the window of `steps` that begins at `start`.
    fn set(&mut self, row: usize, steps: &Steps, start: usize) {
        let length = self.rewards.ncols();
        let end = (start + length).min(steps.rewards.len());
        let (range, count) = (s![start..end, ..], end - start);
        self.latents.slice_mut(s![row, ..count, ..]).assign(&steps.latents.slice(range));
        self.std_devs.slice_mut(s![row, ..count, ..]).assign(&steps.std_devs.slice(range));
        self.actions.slice_mut(s![row, ..count, ..]).assign(&steps.actions.slice(range));
        for (to, from) in self.rewards.row_mut(row).iter_mut().zip(&steps.rewards[start..end]) {
            *to = *from;
        }
        if count < length {
            self.beyond_end[row] = true;
            let last = steps.latents.slice(s![end - 1, ..]);
            self.latents.slice_mut(s![row, count, ..]).assign(&last);
        }
        if steps.terminated && end == steps.rewards.len() {
            self.terminals[[row, count - 1]] = 1.0;
        }
    }
}
