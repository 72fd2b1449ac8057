//! How much better than expected each action of some episodes was.

use ndarray::{Array2, ArrayView1, ArrayView2, s};

use super::{
    baseline::{Baseline, Regression},
    policy::mean,
    sampler::Trajectory,
};

/// What a policy learns from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Batch {
    /// `[step, observation]`.
    pub(crate) observations: Array2<f64>,
    /// As the policy chose them: `[step, action]`.
    pub(crate) actions: Array2<f64>,
    /// With mean 0 and variance 1, as far as they differ.
    pub(crate) advantages: Vec<f64>,
}

/// γ and λ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Discounts {
    pub(crate) discount: f64,
    pub(crate) gae_lambda: f64,
}

/// Advantages of the steps of an episode and its discounted returns, where `values` are what is
/// expected of each state, the last one included: generalised advantage estimation (Schulman et al.
/// 2016, eq. 16). What would have come after a truncation is what is expected there; after a terminal
/// state nothing comes, and its value must be 0.
pub(crate) fn advantages_and_returns(
    rewards: &[f64],
    values: ArrayView1<'_, f64>,
    Discounts { discount, gae_lambda }: Discounts,
) -> (Vec<f64>, Vec<f64>) {
    let steps = rewards.len();
    let (mut advantages, mut returns) = (vec![0.0; steps], vec![0.0; steps]);
    let (mut advantage, mut future) = (0.0, values[steps]);
    for step in (0..steps).rev() {
        let surprise = rewards[step] + discount * values[step + 1] - values[step];
        advantage = surprise + discount * gae_lambda * advantage;
        future = rewards[step] + discount * future;
        (advantages[step], returns[step]) = (advantage, future);
    }
    (advantages, returns)
}

/// Puts `trajectories` together, and fits `baseline` to them afterwards. Also gives the share of the
/// returns' variance that the baseline had foreseen.
pub(crate) fn batch_of(
    trajectories: &[Trajectory],
    widths: (usize, usize),
    baseline: &mut Baseline,
    discounts: Discounts,
) -> (Batch, f64) {
    let steps = trajectories.iter().map(|trajectory| trajectory.rewards.len()).sum();
    let mut observations = Array2::zeros((steps, widths.0));
    let mut actions = Array2::zeros((steps, widths.1));
    let (mut advantages, mut returns) = (Vec::with_capacity(steps), Vec::with_capacity(steps));
    let mut foreseen = Vec::with_capacity(steps);
    let mut regression = Regression::new(widths.0);
    for trajectory in trajectories {
        let (begin, own) = (advantages.len(), trajectory.rewards.len());
        let seen = matrix(&trajectory.observations, own + 1);
        let seen_features = Baseline::features(seen);
        let mut values = baseline.predict(&seen_features);
        if trajectory.terminated {
            values[own] = 0.0;
        }
        let (own_advantages, own_returns) =
            advantages_and_returns(&trajectory.rewards, values.view(), discounts);
        let rows = s![begin..begin + own, ..];
        observations.slice_mut(rows).assign(&seen.slice(s![..own, ..]));
        actions.slice_mut(rows).assign(&matrix(&trajectory.actions, own));
        foreseen.extend(values.iter().take(own));
        regression.add(seen_features.slice(s![..own, ..]), &own_returns);
        advantages.extend(own_advantages);
        returns.extend(own_returns);
    }
    baseline.fit(&regression);
    let explained = explained_variance(&foreseen, &returns);
    standardise(&mut advantages);
    (Batch { observations, actions, advantages }, explained)
}

/// Gives `values` mean 0 and variance 1; equal ones become 0.
pub(crate) fn standardise(values: &mut [f64]) {
    let (middle, variance) = moments(values);
    let std = variance.sqrt() + 1e-8;
    values.iter_mut().for_each(|value| *value = (*value - middle) / std);
}

/// 1 - Var(returns - foreseen) / Var(returns): 1 of a perfect baseline, below 0 of one worse than the
/// mean return; 0 where all returns are equal.
fn explained_variance(foreseen: &[f64], returns: &[f64]) -> f64 {
    let errors: Vec<f64> = returns.iter().zip(foreseen).map(|(r, f)| r - f).collect();
    let variance = moments(returns).1;
    if variance > 0.0 { 1.0 - moments(&errors).1 / variance } else { 0.0 }
}

/// Mean and variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (middle, squares / values.len() as f64)
}

fn matrix(values: &[f64], rows: usize) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((rows, values.len() / rows), values).expect("whole rows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_a_truncation_is_expected_and_after_a_terminal_state_nothing() {
        let episode = |rewards: &[f64], terminated| Trajectory {
            observations: vec![0.5; rewards.len() + 1],
            actions: vec![0.0; rewards.len()],
            rewards: rewards.to_vec(),
            terminated,
        };
        let mut baseline = Baseline::default();
        let mut batch = |episodes: &[Trajectory]| {
            let discounts = Discounts { discount: 0.9, gae_lambda: 1.0 };
            batch_of(episodes, (1, 1), &mut baseline, discounts).0.advantages
        };
        // It learns to expect 1 of the state.
        batch(&[episode(&[1.0], true), episode(&[1.0], true)]);
        // -1 + 0 and -1 + 0.9, before they are standardised.
        let advantages = batch(&[episode(&[0.0], true), episode(&[0.0], false)]);
        assert!((advantages[0] + 1.0).abs() < 1e-3, "{advantages:?}");
        assert!((advantages[1] - 1.0).abs() < 1e-3, "{advantages:?}");
    }
}
