//! CMA-ES needs as many evaluations as pycma.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rl755_controller::{CmaEs, CmaEsConfig, Covariance, Goal, NegativeWeights};

/// pycma's test functions of those names.
fn function(name: &str, x: &[f64]) -> f64 {
    let n = x.len();
    match name {
        "sphere" => x.iter().map(|x| x * x).sum(),
        "elli" => {
            let weight = |i: usize| 1e6f64.powf(i as f64 / (n - 1) as f64);
            x.iter().enumerate().map(|(i, x)| weight(i) * x * x).sum()
        }
        "rosen" => {
            x.windows(2).map(|x| 100.0 * (x[0] * x[0] - x[1]).powi(2) + (x[0] - 1.0).powi(2)).sum()
        }
        other => panic!("no function {other}"),
    }
}

fn config(seed: u64) -> CmaEsConfig {
    CmaEsConfig {
        goal: Goal::Minimize,
        sigma: 0.3,
        population: None,
        covariance: Covariance::Full,
        negative_weights: NegativeWeights::Active,
        seed,
    }
}

/// Evaluations until a value below the target was seen; `None` after 20,000.
fn evaluations(name: &str, config: &CmaEsConfig) -> Option<usize> {
    let mut evolution = CmaEs::new(&[0.5; 10], config).unwrap();
    for generation in 1..=20_000 / evolution.population() {
        let values: Vec<f64> = evolution.ask().iter().map(|x| function(name, x)).collect();
        evolution.tell(&values).unwrap();
        if values.iter().any(|value| *value < 1e-9) {
            return Some(generation * evolution.population());
        }
    }
    None
}

fn median(mut counts: Vec<usize>) -> f64 {
    counts.sort_unstable();
    counts[counts.len() / 2] as f64
}

#[test]
fn evaluations_to_the_target_are_pycmas() {
    let golden: serde_json::Value =
        serde_json::from_str(include_str!("golden/cma_es.json")).unwrap();
    for name in ["sphere", "elli", "rosen"] {
        let peer = golden["evaluations"][name].as_array().unwrap();
        let peer = median(peer.iter().map(|count| count.as_u64().unwrap() as usize).collect());
        // On Rosenbrock's function a run in a few ends in the local optimum, here as in pycma.
        let ours: Vec<usize> =
            (1..=11).filter_map(|seed| evaluations(name, &config(seed))).collect();
        assert!(ours.len() >= 8, "{name}: only {} of 11 runs arrived", ours.len());
        let ratio = median(ours) / peer;
        assert!((0.75..1.33).contains(&ratio), "{name}: {ratio:.2} times pycma's evaluations");
    }
}

#[test]
fn the_diagonal_form_scales_axes_of_a_separable_function() {
    let diagonal = CmaEsConfig { covariance: Covariance::Diagonal, ..config(1) };
    assert!(evaluations("elli", &diagonal).unwrap() < evaluations("elli", &config(1)).unwrap());
}

#[test]
fn a_loaded_evolution_goes_on_with_the_same_bits() {
    for covariance in [Covariance::Full, Covariance::Diagonal] {
        let advance = |evolution: &mut CmaEs, generations: usize| {
            for _ in 0..generations {
                let members = evolution.ask();
                let values: Vec<f64> = members.iter().map(|x| function("rosen", x)).collect();
                evolution.tell(&values).unwrap();
            }
        };
        let mut whole = CmaEs::new(&[0.5; 10], &CmaEsConfig { covariance, ..config(3) }).unwrap();
        for generations in 0..40 {
            let directory = tempfile::tempdir().unwrap();
            whole.save(directory.path()).unwrap();
            let mut parts = CmaEs::load(directory.path()).unwrap();
            advance(&mut parts, 5);
            let mut same = whole.clone();
            advance(&mut same, 5);
            assert_eq!(parts.ask(), same.ask(), "{covariance:?} after {generations}");
            advance(&mut whole, 1);
        }
    }
}

#[test]
fn a_nan_value_is_refused_and_nothing_is_learnt() {
    let mut evolution = CmaEs::new(&[0.5; 10], &config(1)).unwrap();
    let before = evolution.ask();
    let mut values = vec![1.0; evolution.population()];
    values[2] = f64::NAN;
    let error = evolution.tell(&values).unwrap_err().to_string();
    assert!(error.contains('2') && evolution.ask() == before, "{error}");
}
