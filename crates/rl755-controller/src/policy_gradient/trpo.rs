//! The update of trust region policy optimisation.

use super::{
    advantages::Batch,
    config::TrpoConfig,
    conjugate_gradient::{add, conjugate_gradient, dot},
    policy::{Policy, mean},
};

/// What a line search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TrpoReport {
    /// The mean KL divergence of the policy from what it was.
    pub(crate) divergence: f64,
    /// By how much the surrogate objective, the mean advantage as the new policy would weigh it, has
    /// grown.
    pub(crate) gain: f64,
    /// Steps that were tried in vain.
    pub(crate) backtracks: u32,
    /// Whether none was any good, and the policy stays as it was.
    pub(crate) rejected: bool,
}

/// Moves `parameters` along the natural gradient of the surrogate objective, as far as the trust
/// region reaches by its quadratic model, or less where the policy would leave it or not improve.
pub(crate) fn trpo_step(
    policy: &Policy,
    parameters: &mut Vec<f64>,
    batch: &Batch,
    config: &TrpoConfig,
) -> TrpoReport {
    let before = parameters.clone();
    let old = policy.look(&before, batch.observations.view());
    let old_log = policy.log_probabilities(&old, batch.actions.view());
    let scale = 1.0 / batch.advantages.len() as f64;
    let weights: Vec<f64> = batch.advantages.iter().map(|advantage| advantage * scale).collect();
    let gradient = policy.gradient(&old, batch.actions.view(), &weights, 0.0);

    let product = |direction: &[f64]| {
        let mut product = policy.times_fisher(&old, direction);
        add(&mut product, config.damping, direction);
        product
    };
    let mut step = conjugate_gradient(product, &gradient, config.cg_iterations);
    let curvature = dot(&step, &product(&step));
    let length = (2.0 * config.max_kl / curvature).sqrt();
    let mut report = TrpoReport { divergence: 0.0, gain: 0.0, backtracks: 0, rejected: true };
    // Without a gradient there is nowhere to go.
    if !length.is_finite() {
        return report;
    }
    step.iter_mut().for_each(|step| *step *= length);
    let old_mean = mean(&batch.advantages);
    for backtracks in 0..config.max_backtracks {
        let mut tried = before.clone();
        add(&mut tried, config.backtrack_ratio.powi(backtracks as i32), &step);
        let new = policy.look(&tried, batch.observations.view());
        let new_log = policy.log_probabilities(&new, batch.actions.view());
        let logs = new_log.iter().zip(&old_log).zip(&batch.advantages);
        let weighed: Vec<f64> =
            logs.map(|((new, old), advantage)| (new - old).exp() * advantage).collect();
        let gain = mean(&weighed) - old_mean;
        let divergence = policy.mean_divergence(&old, &new);
        report.backtracks = backtracks;
        if gain > 0.0 && divergence <= config.max_kl {
            *parameters = tried;
            return TrpoReport { divergence, gain, backtracks, rejected: false };
        }
    }
    report.backtracks = config.max_backtracks;
    report
}
