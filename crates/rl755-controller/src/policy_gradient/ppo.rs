//! The update of proximal policy optimisation.

use ndarray::Axis;
use rl755_run::Random;

use super::{
    adam::Adam,
    advantages::Batch,
    config::PpoConfig,
    conjugate_gradient::dot,
    policy::{Policy, mean},
};

/// What the epochs came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PpoReport {
    /// The mean KL divergence of the policy from what it was.
    pub(crate) divergence: f64,
    /// By how much the surrogate objective has grown, clipped.
    pub(crate) gain: f64,
    /// The share of actions whose probability is beyond the clip.
    pub(crate) clipped: f64,
}

/// Moves `parameters` up the clipped objective, minibatch by minibatch, in an order drawn from `seed`.
pub(crate) fn ppo_step(
    policy: &Policy,
    parameters: &mut [f64],
    adam: &mut Adam,
    batch: &Batch,
    config: &PpoConfig,
    seed: u64,
) -> PpoReport {
    let before = parameters.to_vec();
    let old = policy.look(&before, batch.observations.view());
    let old_log = policy.log_probabilities(&old, batch.actions.view());
    let mut order: Vec<usize> = (0..batch.advantages.len()).collect();
    for epoch in 0..config.epochs {
        let mut random = Random::derived(seed, "minibatches", epoch.into());
        for end in (1..order.len()).rev() {
            order.swap(end, random.below(end + 1));
        }
        for rows in order.chunks(config.minibatch_size) {
            let observations = batch.observations.select(Axis(0), rows);
            let actions = batch.actions.select(Axis(0), rows);
            let now = policy.look(parameters, observations.view());
            let log = policy.log_probabilities(&now, actions.view());
            let scale = 1.0 / rows.len() as f64;
            let weights: Vec<f64> = rows
                .iter()
                .zip(log)
                .map(|(&row, log)| {
                    let ratio = (log - old_log[row]).exp();
                    scale * slope(ratio, batch.advantages[row], config.clip)
                })
                .collect();
            let mut gradient =
                policy.gradient(&now, actions.view(), &weights, config.entropy * scale);
            let norm = dot(&gradient, &gradient).sqrt();
            if norm > config.max_gradient_norm {
                gradient.iter_mut().for_each(|g| *g *= config.max_gradient_norm / norm);
            }
            adam.ascend(parameters, &gradient, config.learning_rate);
        }
    }
    let new = policy.look(parameters, batch.observations.view());
    let new_log = policy.log_probabilities(&new, batch.actions.view());
    let ratios: Vec<f64> =
        new_log.iter().zip(&old_log).map(|(new, old)| (new - old).exp()).collect();
    let values: Vec<f64> = ratios
        .iter()
        .zip(&batch.advantages)
        .map(|(ratio, advantage)| objective(*ratio, *advantage, config.clip) - advantage)
        .collect();
    let beyond = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() > config.clip).count();
    PpoReport {
        divergence: policy.mean_divergence(&old, &new),
        gain: mean(&values),
        clipped: beyond as f64 / ratios.len() as f64,
    }
}

/// min(r A, clip(r, 1 - ε, 1 + ε) A).
fn objective(ratio: f64, advantage: f64, clip: f64) -> f64 {
    (ratio * advantage).min(ratio.clamp(1.0 - clip, 1.0 + clip) * advantage)
}

/// The derivative of [`objective`] with respect to the log-probability.
fn slope(ratio: f64, advantage: f64, clip: f64) -> f64 {
    let beyond = if advantage > 0.0 { ratio > 1.0 + clip } else { ratio < 1.0 - clip };
    if beyond { 0.0 } else { ratio * advantage }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_that_of_the_objective() {
        for advantage in [-2.0, 0.5] {
            for ratio in [0.3_f64, 0.79, 0.81, 1.0, 1.19, 1.21, 3.0] {
                let at = |step: f64| objective((ratio.ln() + step).exp(), advantage, 0.2);
                let expected = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((slope(ratio, advantage, 0.2) - expected).abs() < 1e-8, "{ratio}");
            }
        }
    }
}
