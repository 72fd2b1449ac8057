//! Batches of training sequences from windows of encoded rollouts.

use std::ops::Range;

use burn::tensor::Device;
use ndarray::{Array1, Array3, Axis, Zip, s};
use rl755_data::{DatasetError, WindowSampler, Windows};
use rl755_run::Random;

use crate::{SequenceBatch, values::tensor};

/// Makes training batches; batch `step` depends on the sampler's config, the seed and `step` alone.
#[derive(Debug)]
pub(crate) struct Batches {
    /// Windows of one step more than a sequence has.
    pub(crate) sampler: WindowSampler,
    /// Whether latents are drawn from their posterior.
    pub(crate) sample_observations: bool,
    /// Whether targets are differences.
    pub(crate) difference_targets: bool,
    /// What the drawn latents derive from.
    pub(crate) seed: u64,
}

/// Latents that follow one another, and the rest of their windows.
pub(crate) struct Sequences {
    /// `[batch, length + 1, latent]`.
    latents: Array3<f32>,
    windows: Windows,
}

impl Batches {
    /// Batch `step`, from 0.
    ///
    /// # Errors
    /// When a rollout is damaged or cannot be read.
    pub(crate) fn sequences(&self, step: u64) -> Result<Sequences, DatasetError> {
        let windows = self.sampler.batch(step)?;
        let mut latents = windows.latents.clone();
        if self.sample_observations {
            // One stream for each sequence.
            let rows = latents.axis_iter_mut(Axis(0)).zip(windows.std_devs.axis_iter(Axis(0)));
            for (row, (mut latents, std_devs)) in rows.enumerate() {
                let visit = step * windows.latents.len_of(Axis(0)) as u64 + row as u64;
                let mut random = Random::derived(self.seed, "latents", visit);
                Zip::from(&mut latents).and(&std_devs).for_each(|latent, std_dev| {
                    *latent += std_dev * random.normal() as f32;
                });
            }
        }
        Ok(Sequences { latents, windows })
    }

    /// The tensors of those of `sequences` that are in `part`.
    pub(crate) fn tensors(
        &self,
        sequences: &Sequences,
        part: Range<usize>,
        device: &Device,
    ) -> SequenceBatch {
        let Sequences { latents, windows } = sequences;
        let seen = latents.slice(s![part.clone(), ..-1, ..]);
        let mut targets = latents.slice(s![part.clone(), 1.., ..]).to_owned();
        if self.difference_targets {
            targets -= &seen;
        }
        SequenceBatch {
            latents: tensor(&seen.to_owned(), device),
            actions: tensor(&windows.actions.slice(s![part.clone(), ..-1, ..]).to_owned(), device),
            targets: tensor(&targets, device),
            rewards: tensor(&windows.rewards.slice(s![part.clone(), ..-1]).to_owned(), device),
            terminals: tensor(&windows.terminals.slice(s![part, ..-1]).to_owned(), device),
        }
    }
}

impl Sequences {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.latents.len_of(Axis(0))
    }

    /// The mean squared difference between consecutive latents, `[latent]`.
    pub(crate) fn squared_changes(&self) -> Array1<f64> {
        let changes = &self.latents.slice(s![.., 1.., ..]) - &self.latents.slice(s![.., ..-1, ..]);
        let latent = changes.len_of(Axis(2));
        let mut sums = Array1::<f64>::zeros(latent);
        for row in changes.rows() {
            Zip::from(&mut sums).and(&row).for_each(|sum, change| {
                *sum += f64::from(*change).powi(2);
            });
        }
        sums / (changes.len() / latent.max(1)) as f64
    }
}
