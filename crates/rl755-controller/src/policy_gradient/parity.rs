//! Updates go where PyTorch's distributions and derivatives lead.

use ndarray::Array2;
use rl755_env::{EnvSpec, Space};
use serde::Deserialize;

use super::{
    adam::Adam,
    advantages::{Batch, Discounts, advantages_and_returns},
    baseline::{Baseline, Regression},
    config::{PolicyConfig, PpoConfig, TrpoConfig},
    policy::Policy,
    ppo::ppo_step,
    trpo::trpo_step,
};

#[derive(Deserialize)]
struct Golden {
    hidden: Vec<usize>,
    cases: Vec<Case>,
    advantages: Vec<Advantages>,
    baseline: Fit,
}

#[derive(Deserialize)]
struct Case {
    kind: String,
    outputs: usize,
    observations: Vec<Vec<f64>>,
    actions: Vec<Vec<f64>>,
    advantages: Vec<f64>,
    parameters: Vec<f64>,
    trpo: TrpoStep,
    ppo: PpoStep,
}

#[derive(Deserialize)]
struct TrpoStep {
    config: TrpoConfig,
    direction: Vec<f64>,
    fisher_product: Vec<f64>,
    parameters: Vec<f64>,
    gain: f64,
    divergence: f64,
    backtracks: u32,
    entropy: f64,
}

#[derive(Deserialize)]
struct PpoStep {
    config: PpoConfig,
    parameters: Vec<f64>,
    gain: f64,
}

#[derive(Deserialize)]
struct Advantages {
    rewards: Vec<f64>,
    values: Vec<f64>,
    discount: f64,
    gae_lambda: f64,
    advantages: Vec<f64>,
    returns: Vec<f64>,
}

#[derive(Deserialize)]
struct Fit {
    episodes: Vec<Vec<Vec<f64>>>,
    returns: Vec<f64>,
    predictions: Vec<f64>,
}

fn golden() -> Golden {
    let text = include_str!("../../tests/golden/policy_gradient_by_pytorch.json");
    serde_json::from_str(text).unwrap()
}

fn matrix(rows: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap()
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() < tolerance, "{index}: {found}, not {expected}");
    }
}

impl Case {
    fn policy(&self, hidden: &[usize]) -> Policy {
        let width = self.observations[0].len();
        let n = self.outputs;
        let spec = EnvSpec {
            id: "Golden-v0".to_owned(),
            observation_space: Space::Box { low: vec![-9.0; width], high: vec![9.0; width] },
            action_space: match self.kind.as_str() {
                "gaussian" => Space::Box { low: vec![-1.0; n], high: vec![1.0; n] },
                _ => Space::Discrete { n },
            },
            max_episode_steps: None,
            rules: String::new(),
        };
        let config = PolicyConfig { hidden: hidden.to_vec(), ..PolicyConfig::default() };
        Policy::new(&spec, &config).unwrap()
    }

    fn batch(&self) -> Batch {
        Batch {
            observations: matrix(&self.observations),
            actions: matrix(&self.actions),
            advantages: self.advantages.clone(),
        }
    }
}

#[test]
fn a_step_of_trpo_is_that_of_pytorch() {
    let golden = golden();
    for case in &golden.cases {
        let (policy, batch) = (case.policy(&golden.hidden), case.batch());
        let outlook = policy.look(&case.parameters, batch.observations.view());
        let product = policy.times_fisher(&outlook, &case.trpo.direction);
        close(&product, &case.trpo.fisher_product, 1e-11);
        close(&[policy.mean_entropy(&outlook)], &[case.trpo.entropy], 1e-12);

        let mut parameters = case.parameters.clone();
        let report = trpo_step(&policy, &mut parameters, &batch, &case.trpo.config);
        close(&parameters, &case.trpo.parameters, 1e-9);
        close(&[report.gain, report.divergence], &[case.trpo.gain, case.trpo.divergence], 1e-9);
        assert_eq!((report.backtracks, report.rejected), (case.trpo.backtracks, false));
    }
}

#[test]
fn epochs_of_ppo_are_those_of_pytorch() {
    let golden = golden();
    for case in &golden.cases {
        let (policy, batch) = (case.policy(&golden.hidden), case.batch());
        let mut parameters = case.parameters.clone();
        let mut adam = Adam::new(parameters.len());
        let report = ppo_step(&policy, &mut parameters, &mut adam, &batch, &case.ppo.config, 1);
        close(&parameters, &case.ppo.parameters, 1e-9);
        close(&[report.gain], &[case.ppo.gain], 1e-9);
    }
}

#[test]
fn advantages_and_returns_are_the_sums_they_are_defined_as() {
    for case in golden().advantages {
        let Advantages { discount, gae_lambda, .. } = case;
        let values = ndarray::ArrayView1::from(&case.values);
        let discounts = Discounts { discount, gae_lambda };
        let (advantages, returns) = advantages_and_returns(&case.rewards, values, discounts);
        close(&advantages, &case.advantages, 1e-12);
        close(&returns, &case.returns, 1e-12);
    }
}

#[test]
fn the_baseline_is_the_least_squares_fit() {
    let fit = golden().baseline;
    let episodes: Vec<Array2<f64>> = fit.episodes.iter().map(|seen| matrix(seen)).collect();
    let features: Vec<_> = episodes.iter().map(|seen| Baseline::features(seen.view())).collect();
    let mut baseline = Baseline::default();
    assert_eq!(baseline.predict(&features[0]).sum(), 0.0);
    let mut regression = Regression::new(episodes[0].ncols());
    let mut returns = &fit.returns[..];
    for features in &features {
        let (own, others) = returns.split_at(features.nrows());
        regression.add(features.view(), own);
        returns = others;
    }
    baseline.fit(&regression);
    let predictions: Vec<f64> = features.iter().flat_map(|f| baseline.predict(f)).collect();
    close(&predictions, &fit.predictions, 1e-7);
}
