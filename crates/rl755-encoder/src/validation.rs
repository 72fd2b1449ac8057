//! How good an encoder is on observations it was not trained on: always the same ones.

use burn::tensor::{Device, Tensor, TensorData};
use rl755_data::{DatasetError, FrameSampler, FrameSamplerConfig, Observations, Split};
use rl755_nn::seeded;

use crate::{
    EncoderModel, batches::rows_of, input_form::InputForm, picture::FRAMES, trained::values_of,
};

/// Observations that are measured together.
pub(crate) const CHUNK: usize = 64;

/// A latent unit is active when its mean varies more than this over observations (Burda et al.
/// 2016).
const ACTIVE_VARIANCE: f64 = 0.01;

/// A fixed sample of observations.
pub(crate) struct Validation {
    chunks: Vec<Observations>,
    seed: u64,
}

/// What was measured.
pub(crate) struct Measured {
    /// `validation_loss`, its parts, `validation_active_units`.
    pub(crate) values: Vec<(String, f64)>,
    /// A warning, if the latents carry next to nothing.
    pub(crate) collapse: Option<String>,
}

impl Validation {
    /// Samples `count` observations of `split`, evenly from its rollouts, or a few less.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn new(split: Split, count: usize, seed: u64) -> Result<Self, DatasetError> {
        let batch_size = count.min(CHUNK);
        let batches = (count / batch_size) as u64;
        let config = FrameSamplerConfig {
            batch_size,
            obs_sampled_per_rollout: count.div_ceil(split.len()).max(1),
            // One block: every rollout is read once.
            shuffle_buffer_bytes: u64::MAX,
            batches: Some(batches),
            seed,
            ..FrameSamplerConfig::default()
        };
        let sampler = FrameSampler::new(split, config)?;
        let chunks = (0..batches).map(|batch| sampler.batch(batch)).collect::<Result<_, _>>()?;
        Ok(Self { chunks, seed })
    }

    /// A few frames for a picture, in the input space.
    pub(crate) fn frames(&self, form: &InputForm) -> Vec<f32> {
        let mut rows = rows_of(&self.chunks[0], form);
        rows.truncate(FRAMES * form.input().width());
        rows
    }

    /// Measures `model`, which has no gradients, on `device`.
    pub(crate) fn measure<M: EncoderModel>(
        &self,
        model: &M,
        form: &InputForm,
        device: &Device,
    ) -> Measured {
        let mut sums: Vec<(String, f64)> = Vec::new();
        let mut units = vec![(0.0, 0.0); model.latent_size()];
        let mut observations = 0;
        for (index, chunk) in self.chunks.iter().enumerate() {
            let rows = tensor(rows_of(chunk, form), form.input().width(), device);
            observations += rows.dims()[0];
            let seed = self.seed.wrapping_add(index as u64);
            let losses = seeded(device, seed, || model.losses(rows.clone())).metrics();
            sums.resize_with(losses.len(), Default::default);
            for (sum, (name, value)) in sums.iter_mut().zip(losses) {
                *sum = (name, sum.1 + value);
            }
            let means = values_of(model.represent(rows).mean, usize::MAX);
            for row in means.chunks_exact(units.len().max(1)) {
                for ((sum, squares), &value) in units.iter_mut().zip(row) {
                    *sum += f64::from(value);
                    *squares += f64::from(value).powi(2);
                }
            }
        }
        let n = f64::from(observations as u32);
        let variance = |(sum, squares): &(f64, f64)| squares / n - (sum / n).powi(2);
        let active = units.iter().filter(|unit| variance(unit) > ACTIVE_VARIANCE).count();
        let chunks = self.chunks.len() as f64;
        let kl = sums.iter().find(|(name, _)| name == "kl").map(|(_, sum)| sum / chunks);
        let mut values: Vec<(String, f64)> = sums
            .into_iter()
            .map(|(name, sum)| (format!("validation_{name}"), sum / chunks))
            .collect();
        values.push(("validation_active_units".to_owned(), active as f64));
        let collapse = kl.and_then(|kl| collapse(kl, model.kl_floor(), active, units.len()));
        Measured { values, collapse }
    }
}

/// Whether the posterior is (next to) the prior: then the latents say nothing of the observation.
fn collapse(kl: f64, floor: f64, active: usize, units: usize) -> Option<String> {
    if active * 10 <= units {
        return Some(format!(
            "posterior collapse: {active} of {units} latent units vary with the observation \
             (KL {kl:.3} nats); a smaller beta or more free nats may help"
        ));
    }
    (kl < 0.5 * floor).then(|| {
        format!("the KL divergence is {kl:.3} nats where {floor} are free: latents are hardly used")
    })
}

/// Rows of `width` as a tensor, `[rows, width]`.
pub(crate) fn tensor(rows: Vec<f32>, width: usize, device: &Device) -> Tensor<2> {
    let count = rows.len() / width;
    Tensor::from_data(TensorData::new(rows, [count, width]), device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collapse_is_noticed() {
        let warns = |kl, floor, active| collapse(kl, floor, active, 32).is_some();
        assert!(warns(0.01, 0.0, 0) && warns(16.0, 16.0, 3) && warns(7.0, 16.0, 20));
        assert!(!warns(16.0, 16.0, 20) && !warns(5.0, 0.0, 4));
    }
}
