//! How models predict latents: by a value for each dimension, or by a mixture of normal distributions
//! (Bishop 1994).

use burn::tensor::Tensor;
use ndarray::ArrayViewMut2;
use rl755_kernels::mixture_negative_log_likelihood;
use rl755_nn::full_precision;
use rl755_run::Random;

use crate::{SequenceError, kernel::exp, model_config::check_size};

/// How a model predicts a latent dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prediction {
    /// By a single value.
    Value,
    /// By a mixture of so many normal distributions.
    Mixture(usize),
}

impl Prediction {
    /// What a setting of that many mixtures says: 0 is for a single value.
    pub(crate) fn of(mixtures: usize) -> Self {
        if mixtures == 0 { Self::Value } else { Self::Mixture(mixtures) }
    }

    /// Checks the number of normal distributions.
    pub(crate) fn check(self, model: &str) -> Result<(), SequenceError> {
        match self {
            Self::Value => Ok(()),
            Self::Mixture(mixtures) => check_size(model, "mixtures", mixtures),
        }
    }

    /// Numbers that a model gives for `latent` dimensions: their values, or logits of the mixtures'
    /// weights, their means, and the logarithms of their standard deviations.
    pub(crate) fn outputs(self, latent: usize) -> usize {
        match self {
            Self::Value => latent,
            Self::Mixture(mixtures) => 3 * latent * mixtures,
        }
    }

    /// The mean squared error, or the negative log-likelihood in nats, averaged over latent
    /// dimensions, `[rows]`. `raw` is `[rows, outputs]`, `targets` is `[rows, latent]`.
    pub(crate) fn losses(self, raw: Tensor<2>, targets: Tensor<2>) -> Tensor<1> {
        let (raw, targets) = (full_precision(raw), full_precision(targets));
        match self {
            // The mean of millions of numbers at once would depend on the threads.
            Self::Value => (raw - targets).square().mean_dim(1).flatten(0, 1),
            Self::Mixture(_) => mixture_negative_log_likelihood(raw, targets),
        }
    }

    /// The loss of a prediction that repeats the last latent: the mean squared change, or the
    /// negative log-likelihood of a normal distribution around it with the best standard deviation
    /// for each dimension.
    pub(crate) fn baseline(self, squared_changes: &[f64]) -> f64 {
        let loss = |variance: &f64| match self {
            Self::Value => *variance,
            Self::Mixture(_) => 0.5 * (std::f64::consts::TAU * std::f64::consts::E * variance).ln(),
        };
        squared_changes.iter().map(loss).sum::<f64>() / squared_changes.len() as f64
    }

    /// Fills `latents`, `[rows, latent]`, from `raw`, `[rows, outputs]`: the value, or a draw of the
    /// mixture at `temperature`.
    pub(crate) fn predict(
        self,
        raw: &[f32],
        temperature: f64,
        randoms: &mut [Random],
        mut latents: ArrayViewMut2<'_, f32>,
    ) {
        if self == Self::Value {
            latents.iter_mut().zip(raw).for_each(|(to, from)| *to = *from);
            return;
        }
        let width = latents.ncols();
        let mut drawn = vec![0.0; width];
        let rows = raw.chunks_exact(self.outputs(width)).zip(randoms).zip(latents.rows_mut());
        for ((raw, random), mut latents) in rows {
            sample(raw, temperature, random, &mut drawn);
            latents.iter_mut().zip(&drawn).for_each(|(to, from)| *to = *from);
        }
    }
}

/// Draws each latent dimension from its mixture at `temperature`, with weights to the power of
/// 1 / temperature and variances times temperature, as World Models' code does. At 0 it is the
/// mean of the heaviest mixture.
///
/// `raw` is one row as [`Prediction::outputs`] says. Takes the same numbers from `random`
/// for each dimension at any temperature above 0, whatever comes out.
fn sample(raw: &[f32], temperature: f64, random: &mut Random, latents: &mut [f32]) {
    let latent = latents.len();
    let mixtures = raw.len() / (3 * latent);
    let (logits, rest) = raw.split_at(latent * mixtures);
    let (means, log_std_devs) = rest.split_at(latent * mixtures);
    let spread = temperature.sqrt();
    for (index, value) in latents.iter_mut().enumerate() {
        let at = index * mixtures;
        let logits = &logits[at..at + mixtures];
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if temperature == 0.0 {
            let heaviest = logits.iter().position(|logit| *logit == largest).unwrap_or(0);
            *value = means[at + heaviest];
            continue;
        }
        let weight =
            |logit: &f32| f64::from(exp((f64::from(logit - largest) / temperature) as f32));
        let mut left = random.unit() * logits.iter().map(weight).sum::<f64>();
        let mut chosen = mixtures - 1;
        for (mixture, logit) in logits.iter().enumerate() {
            left -= weight(logit);
            if left < 0.0 {
                chosen = mixture;
                break;
            }
        }
        let std_dev = f64::from(exp(log_std_devs[at + chosen])) * spread;
        *value = (f64::from(means[at + chosen]) + std_dev * random.normal()) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One dimension with weights 0.2 and 0.8, means -1 and 2, standard deviations 0.5 and 0.1.
    fn two_humps() -> Vec<f32> {
        [0.2f32, 0.8]
            .map(f32::ln)
            .into_iter()
            .chain([-1.0, 2.0])
            .chain([0.5, 0.1].map(f32::ln))
            .collect()
    }

    fn draws(temperature: f64) -> Vec<f64> {
        let mut random = Random::new(3);
        (0..50_000)
            .map(|_| {
                let mut value = [0.0];
                sample(&two_humps(), temperature, &mut random, &mut value);
                f64::from(value[0])
            })
            .collect()
    }

    #[test]
    fn draws_at_temperature_1_have_the_mixtures_moments() {
        let draws = draws(1.0);
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let (exact_mean, second) = (0.8 * 2.0 - 0.2, 0.2 * 1.25 + 0.8 * 4.01);
        assert!((mean - exact_mean).abs() < 0.03, "{mean}");
        assert!((variance - (second - exact_mean * exact_mean)).abs() < 0.04, "{variance}");
    }

    #[test]
    fn temperature_sharpens_weights_and_narrows_humps() {
        let draws = draws(0.5);
        let low: Vec<f64> = draws.iter().copied().filter(|x| *x < 0.8).collect();
        // 0.2² / (0.2² + 0.8²)
        let share = low.len() as f64 / draws.len() as f64;
        assert!((share - 0.04 / 0.68).abs() < 0.005, "{share}");
        let variance = low.iter().map(|x| (x + 1.0).powi(2)).sum::<f64>() / low.len() as f64;
        assert!((variance - 0.125).abs() < 0.01, "{variance}");
    }

    #[test]
    fn temperature_0_is_the_heaviest_mean() {
        let mut random = Random::new(3);
        let mut value = [0.0];
        sample(&two_humps(), 0.0, &mut random, &mut value);
        assert_eq!((value[0], random), (2.0, Random::new(3)));
    }
}
