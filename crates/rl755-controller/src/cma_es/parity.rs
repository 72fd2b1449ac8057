//! With the same random numbers the evolution goes where pycma goes.

use nalgebra::DMatrix;
use serde::Deserialize;

use super::{CmaEs, CmaEsConfig, Covariance, Distribution, Goal, NegativeWeights};

#[derive(Deserialize)]
struct Golden {
    trajectories: Vec<Trajectory>,
}

#[derive(Deserialize)]
struct Trajectory {
    function: String,
    dimension: usize,
    population: usize,
    /// After each generation.
    sigma: Vec<f64>,
    /// After the last.
    mean: Vec<f64>,
}

/// The generator's numbers with mean 0 and variance 1.
struct Draws(u32);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        12f64.sqrt() * (f64::from(self.0) / 2f64.powi(32) - 0.5)
    }
}

fn value(function: &str, x: &[f64]) -> f64 {
    match function {
        "elli" => {
            let exponent = |i: usize| i as f64 / (x.len() - 1) as f64;
            x.iter().enumerate().map(|(i, x)| 1e6f64.powf(exponent(i)) * x * x).sum()
        }
        "rosen" => {
            x.windows(2).map(|x| 100.0 * (x[0] * x[0] - x[1]).powi(2) + (x[0] - 1.0).powi(2)).sum()
        }
        other => panic!("no function {other}"),
    }
}

#[test]
fn given_the_same_random_numbers_the_evolution_is_pycmas() {
    let golden = include_str!("../../tests/golden/cma_es.json");
    let golden: Golden = serde_json::from_str(golden).unwrap();
    for peer in &golden.trajectories {
        let n = peer.dimension;
        let config = CmaEsConfig {
            goal: Goal::Minimize,
            sigma: 0.3,
            population: Some(peer.population),
            covariance: Covariance::Full,
            negative_weights: NegativeWeights::Active,
            seed: 0,
        };
        let mut evolution = CmaEs::new(&vec![0.5; n], &config).unwrap();
        let mut numbers = Draws(n as u32);
        for (generation, expected) in peer.sigma.iter().enumerate() {
            let z = DMatrix::from_fn(n, peer.population, |_, _| numbers.next());
            let Distribution::Full { eigenvectors, .. } = &evolution.state.distribution else {
                unreachable!("the covariance is full")
            };
            // Steps become C^(1/2) z, which does not depend on the signs of eigenvectors.
            let draws = eigenvectors.tr_mul(&z);
            let steps = evolution.state.distribution.transform(draws.clone());
            let values: Vec<f64> = steps
                .column_iter()
                .map(|y| {
                    let member = &evolution.state.mean + y * evolution.state.sigma;
                    value(&peer.function, member.as_slice())
                })
                .collect();
            let mut order: Vec<usize> = (0..peer.population).collect();
            order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
            evolution.learn(&draws.select_columns(&order));
            let ratio = evolution.sigma() / expected;
            let (function, generation) = (&peer.function, generation + 1);
            assert!((ratio - 1.0).abs() < 1e-6, "{function} {n}, generation {generation}: {ratio}");
        }
        for (index, (found, expected)) in evolution.mean().iter().zip(&peer.mean).enumerate() {
            assert!((found - expected).abs() < 1e-6, "{} {n}, mean {index}", peer.function);
        }
    }
}
