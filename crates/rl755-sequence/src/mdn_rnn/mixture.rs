//! Mixtures of normal distributions (Bishop 1994), one for each latent dimension.

use burn::tensor::{Tensor, activation::log_softmax};
use rl755_run::Random;

use crate::kernel::exp;

/// ln(2π) / 2.
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

/// The negative logarithm of the density of `targets`, `[n, latent]`, averaged over both, in nats
/// per dimension.
///
/// `raw` is `[n, 3 · latent · mixtures]`: the logits of the mixtures' weights, their means, and
/// the logarithms of their standard deviations, `[latent, mixtures]` each.
pub(super) fn negative_log_likelihood(raw: Tensor<2>, targets: Tensor<2>) -> Tensor<1> {
    let [n, latent] = targets.dims();
    let mixtures = raw.dims()[1] / (3 * latent);
    let block = |index: usize| {
        let size = latent * mixtures;
        raw.clone().narrow(1, index * size, size).reshape([n * latent, mixtures])
    };
    let targets = targets.reshape([n * latent, 1]);
    let (log_weights, means, log_std_devs) = (log_softmax(block(0), 1), block(1), block(2));
    let scaled = (targets - means) * log_std_devs.clone().neg().exp();
    let log_densities = log_weights - scaled.square() * 0.5 - log_std_devs - HALF_LN_TAU;
    // log-sum-exp over the mixtures, with the largest taken out.
    let largest = log_densities.clone().detach().max_dim(1);
    let sums = (log_densities - largest.clone()).exp().sum_dim(1).log() + largest;
    // Row by row first: the mean of millions of numbers at once depends on the threads.
    -sums.reshape([n, latent]).mean_dim(1).mean()
}

/// Draws each latent dimension from its mixture at `temperature`, with weights to the power of
/// 1 / temperature and variances times temperature, as World Models' code does. At 0 it is the
/// mean of the heaviest mixture.
///
/// `raw` is one row as above. Takes the same numbers from `random`
/// for each dimension at any temperature above 0, whatever comes out.
pub(super) fn sample(raw: &[f32], temperature: f64, random: &mut Random, latents: &mut [f32]) {
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
    use burn::tensor::{Device, TensorData};

    use super::*;

    fn random(len: usize, scale: f64, seed: u64) -> Vec<f32> {
        let mut random = Random::new(seed);
        (0..len).map(|_| (scale * random.normal()) as f32).collect()
    }

    #[test]
    fn the_likelihood_is_that_of_the_definition() {
        let (n, latent, mixtures) = (7, 3, 4);
        let raw = random(n * 3 * latent * mixtures, 1.5, 1);
        let targets = random(n * latent, 1.0, 2);
        let mut expected = 0.0;
        for row in 0..n {
            let raw = &raw[row * 3 * latent * mixtures..][..3 * latent * mixtures];
            for dimension in 0..latent {
                let at = |block: usize, mixture: usize| {
                    f64::from(raw[block * latent * mixtures + dimension * mixtures + mixture])
                };
                let y = f64::from(targets[row * latent + dimension]);
                let (mut density, mut total) = (0.0, 0.0);
                for mixture in 0..mixtures {
                    let (weight, mean, std_dev) =
                        (at(0, mixture).exp(), at(1, mixture), at(2, mixture).exp());
                    let normal = (-((y - mean) / std_dev).powi(2) / 2.0).exp()
                        / (std_dev * std::f64::consts::TAU.sqrt());
                    density += weight * normal;
                    total += weight;
                }
                expected -= (density / total).ln() / (n * latent) as f64;
            }
        }
        let device = Device::flex();
        let tensor = |values: Vec<f32>, width: usize| {
            Tensor::<2>::from_data(TensorData::new(values, [n, width]), &device)
        };
        let found =
            negative_log_likelihood(tensor(raw, 3 * latent * mixtures), tensor(targets, latent));
        let found = f64::from(found.into_scalar::<f32>());
        assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
    }

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
