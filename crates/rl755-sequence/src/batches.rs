//! Batches of training sequences from windows of encoded rollouts.

use std::ops::Range;

use burn::tensor::Device;
use ndarray::{Array1, Array2, Array3, Axis, Zip, s};
use rl755_data::{DatasetError, WindowSampler, Windows};
use rl755_run::Random;

use crate::{SequenceBatch, values::tensor};

/// Makes training batches; batch `step` depends on the sampler's config, the seed and `step` alone.
#[derive(Debug)]
pub(crate) struct Batches {
    /// Windows of one step more than a sequence has: the last one is only a target, and beyond the
    /// end of a task it is not even that.
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
        let followed = sequences.followed().slice_move(s![part.clone(), ..]);
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
            followed: followed.iter().any(|f| *f == 0.0).then(|| tensor(&followed, device)),
        }
    }
}

impl Sequences {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.latents.len_of(Axis(0))
    }

    /// 1 where a latent followed, else 0, `[batch, length]`.
    fn followed(&self) -> Array2<f32> {
        let mut followed = Array2::ones((self.len(), self.latents.len_of(Axis(1)) - 1));
        for (mut row, beyond_end) in followed.rows_mut().into_iter().zip(&self.windows.beyond_end) {
            if let (Some(last), true) = (row.last_mut(), beyond_end) {
                *last = 0.0;
            }
        }
        followed
    }

    /// The mean squared difference between consecutive latents, `[latent]`: over the steps of each
    /// sequence that a latent followed, then over sequences, as losses are.
    pub(crate) fn squared_changes(&self) -> Array1<f64> {
        let changes = &self.latents.slice(s![.., 1.., ..]) - &self.latents.slice(s![.., ..-1, ..]);
        let mut mean = Array1::<f64>::zeros(changes.len_of(Axis(2)));
        for (changes, followed) in changes.outer_iter().zip(self.followed().rows()) {
            let count = f64::from(followed.sum().max(1.0)) * self.len() as f64;
            for (changes, followed) in changes.rows().into_iter().zip(followed) {
                Zip::from(&mut mean).and(&changes).for_each(|mean, change| {
                    *mean += f64::from(*followed) * f64::from(*change).powi(2) / count;
                });
            }
        }
        mean
    }
}

#[cfg(test)]
mod tests {
    use rl755_data::{
        Dataset, DatasetManifest, EncodedRollout, EncoderSource, MANIFEST_FORMAT, MemoryBudget,
        ShardWriter, WindowSamplerConfig, shard_name, train_and_validation,
    };
    use rl755_env::{EnvSpec, Space};
    use rl755_nn::values;
    use rl755_run::digest_bytes;

    use super::*;
    use crate::{SequenceNetwork, Sizes, Transformer, TransformerConfig};

    /// Ten rollouts of 6 steps: step t of rollout i has the latent (i, t), the action t and the
    /// reward t.
    fn batches(directory: &std::path::Path, terminated: bool, drawn: bool) -> Batches {
        let environment = EnvSpec {
            id: "Steps-v0".to_owned(),
            observation_space: Space::Image { height: 8, width: 8, channels: 1 },
            action_space: Space::Box { low: vec![0.0], high: vec![9.0] },
            max_episode_steps: None,
            rules: "counts".to_owned(),
        };
        let encoder = EncoderSource {
            name: "count".to_owned(),
            path: "encoder".into(),
            digest: digest_bytes(b"weights"),
            latent_width: 2,
            extras: Default::default(),
        };
        let mut writer = ShardWriter::create(directory, &shard_name("steps", 0, 1)).unwrap();
        for index in 0..10u8 {
            let rollout = EncodedRollout {
                environment: environment.clone(),
                seed: index.into(),
                policy: "none".to_owned(),
                encoder: encoder.digest.clone(),
                latents: Array2::from_shape_fn((6, 2), |(t, i)| {
                    if i == 0 { f32::from(index) } else { t as f32 }
                }),
                std_devs: Array2::from_elem((6, 2), if drawn { 0.5 } else { 0.0 }),
                extras: Default::default(),
                actions: Array2::from_shape_fn((6, 1), |(t, _)| t as f32),
                rewards: (0..6u8).map(f32::from).collect(),
                terminated,
                truncated: !terminated,
            };
            writer.push(&rollout).unwrap();
        }
        let manifest = DatasetManifest {
            format: MANIFEST_FORMAT,
            made_by: "test".to_owned(),
            config: serde_json::json!({ "stage": "test" }),
            name: "steps".to_owned(),
            environment,
            action_width: 1,
            encoder: Some(encoder),
            inputs: Vec::new(),
            skipped: vec![],
            splits: train_and_validation(10, 0.0),
            shards: vec![writer.finish().unwrap()],
        };
        let text = serde_json::to_vec(&manifest).unwrap();
        std::fs::write(DatasetManifest::path_in(directory), text).unwrap();
        let split = Dataset::open(directory).unwrap().split("all").unwrap();
        let config = WindowSamplerConfig { batch_size: 10, length: 4, reader_threads: 1, seed: 3 };
        let sampler = WindowSampler::new(split, config, MemoryBudget::new(1 << 20)).unwrap();
        Batches { sampler, sample_observations: true, difference_targets: false, seed: 7 }
    }

    #[test]
    fn ends_and_last_rewards_are_among_the_steps_of_sequences() {
        let directory = tempfile::tempdir().unwrap();
        let batches = batches(directory.path(), true, false);
        let mut ends = [0; 4];
        for step in 0..40 {
            let sequences = batches.sequences(step).unwrap();
            let batch = batches.tensors(&sequences, 0..10, &Device::flex());
            let followed = batch.followed.clone().map_or(vec![1.0; 30], values);
            let [latents, targets] = [batch.latents, batch.targets].map(values);
            let [rewards, terminals] = [batch.rewards, batch.terminals].map(values);
            for row in 0..10 {
                let begin = rewards[row * 3] as usize;
                ends[begin] += 1;
                for i in 0..3 {
                    let (at, t) = (row * 3 + i, begin + i);
                    let last = t == 5;
                    assert_eq!(rewards[at], t as f32);
                    assert_eq!(latents[2 * at + 1], t as f32);
                    assert_eq!(targets[2 * at + 1], if last { 5.0 } else { t as f32 + 1.0 });
                    assert_eq!([terminals[at], followed[at]], [last, !last].map(f32::from));
                }
            }
            // Every latent that followed has changed by 1 in its second number.
            let found = sequences.squared_changes();
            assert!(found[0] == 0.0 && (found[1] - 1.0).abs() < 1e-9, "{found}");
        }
        // Each of the four windows as often as the others, within four standard errors.
        assert!(ends.iter().all(|n| (66..134).contains(n)), "{ends:?}");
    }

    #[test]
    fn rollouts_that_were_cut_off_have_no_window_beyond_their_last_step() {
        let directory = tempfile::tempdir().unwrap();
        let batches = batches(directory.path(), false, false);
        for step in 0..40 {
            let sequences = batches.sequences(step).unwrap();
            let batch = batches.tensors(&sequences, 0..10, &Device::flex());
            assert!(batch.followed.is_none());
            assert!(values(batch.terminals).iter().all(|end| *end == 0.0));
            assert!(values(batch.rewards).iter().all(|reward| *reward < 5.0));
        }
    }

    #[test]
    fn losses_leave_out_what_no_latent_followed_however_the_batch_is_split() {
        let directory = tempfile::tempdir().unwrap();
        let batches = batches(directory.path(), true, true);
        let (device, sizes) = (Device::flex(), Sizes { latent: 2, action: 1, sequence_length: 3 });
        let config =
            TransformerConfig { layers: 1, hidden_size: 8, heads: 2, ..Default::default() };
        let network = Transformer::init(&config, &sizes, &device).unwrap();
        for step in 0..8 {
            let sequences = batches.sequences(step).unwrap();
            let loss = |change: f32, part: Range<usize>| {
                let mut batch = batches.tensors(&sequences, part, &device);
                if let Some(followed) = &batch.followed {
                    let beyond = (followed.clone() - 1.0) * change;
                    batch.targets = batch.targets + beyond.unsqueeze_dim(2);
                }
                f64::from(network.losses(&batch).total.into_scalar::<f32>())
            };
            let whole = loss(0.0, 0..10);
            assert_eq!(loss(100.0, 0..10), whole);
            let parts = 0.3 * loss(0.0, 0..3) + 0.7 * loss(0.0, 3..10);
            assert!((parts - whole).abs() < 1e-5 * whole, "{parts}, {whole}");
        }
    }
}
