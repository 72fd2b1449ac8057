//! What a network's outputs say of actions: a Gaussian around them, or the odds of each choice.

use rl755_run::Random;

/// ln(2π).
const LN_TAU: f64 = 1.837_877_066_409_345_3;

/// A distribution of actions, given by the network's outputs of a state and, for Gaussians, by the
/// logarithm of a standard deviation that is the same in all states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// Independent normal distributions around the outputs.
    Gaussian {
        /// Numbers of an action.
        size: usize,
    },
    /// Choices with the outputs as their unnormalised log-probabilities. An action is the index of
    /// a choice, as a whole number.
    Categorical {
        /// How many there are to choose from.
        choices: usize,
    },
}

use Distribution::{Categorical, Gaussian};

impl Distribution {
    /// Outputs of the network.
    pub(crate) fn outputs(self) -> usize {
        match self {
            Gaussian { size } => size,
            Categorical { choices } => choices,
        }
    }

    /// Numbers of an action.
    pub(crate) fn action_width(self) -> usize {
        match self {
            Gaussian { size } => size,
            Categorical { .. } => 1,
        }
    }

    /// Logarithms of standard deviations among the parameters.
    pub(crate) fn num_log_std(self) -> usize {
        match self {
            Gaussian { size } => size,
            Categorical { .. } => 0,
        }
    }

    /// Draws an action.
    pub(crate) fn sample(
        self,
        outputs: &[f64],
        log_std: &[f64],
        random: &mut Random,
        action: &mut [f64],
    ) {
        match self {
            Gaussian { .. } => {
                for ((action, mean), log_std) in action.iter_mut().zip(outputs).zip(log_std) {
                    *action = mean + log_std.exp() * random.normal();
                }
            }
            Categorical { .. } => {
                let normaliser = log_sum_exp(outputs);
                let mut left = random.unit();
                let taken = outputs.iter().position(|output| {
                    left -= (output - normaliser).exp();
                    left < 0.0
                });
                // Rounding may leave a little of the whole.
                action[0] = taken.unwrap_or(outputs.len() - 1) as f64;
            }
        }
    }

    /// The likeliest action.
    pub(crate) fn mode(self, outputs: &[f64], action: &mut [f64]) {
        match self {
            Gaussian { .. } => action.copy_from_slice(outputs),
            Categorical { .. } => {
                let greatest =
                    |best, index| if outputs[index] > outputs[best] { index } else { best };
                action[0] = (1..outputs.len()).fold(0, greatest) as f64;
            }
        }
    }

    pub(crate) fn log_probability(self, outputs: &[f64], log_std: &[f64], action: &[f64]) -> f64 {
        match self {
            Gaussian { .. } => {
                let each =
                    outputs.iter().zip(log_std).zip(action).map(|((mean, log_std), action)| {
                        let deviation = (action - mean) / log_std.exp();
                        -0.5 * (deviation * deviation + LN_TAU) - log_std
                    });
                each.sum()
            }
            Categorical { .. } => outputs[action[0] as usize] - log_sum_exp(outputs),
        }
    }

    /// Writes the gradient of `weight` times the log-probability with respect to the outputs, and
    /// adds the one with respect to the logarithms of standard deviations.
    pub(crate) fn log_probability_gradient(
        self,
        outputs: &[f64],
        log_std: &[f64],
        (action, weight): (&[f64], f64),
        of_outputs: &mut [f64],
        of_log_std: &mut [f64],
    ) {
        match self {
            Gaussian { size } => {
                for index in 0..size {
                    let inverse = (-log_std[index]).exp();
                    let deviation = (action[index] - outputs[index]) * inverse;
                    of_outputs[index] = weight * deviation * inverse;
                    of_log_std[index] += weight * (deviation * deviation - 1.0);
                }
            }
            Categorical { choices } => {
                let normaliser = log_sum_exp(outputs);
                for index in 0..choices {
                    of_outputs[index] = -weight * (outputs[index] - normaliser).exp();
                }
                of_outputs[action[0] as usize] += weight;
            }
        }
    }

    /// Turns `tangents` of the outputs into the Fisher information matrix of the outputs times them.
    /// (That of each logarithm of a standard deviation is 2.)
    pub(crate) fn times_fisher(self, outputs: &[f64], log_std: &[f64], tangents: &mut [f64]) {
        match self {
            Gaussian { .. } => {
                for (tangent, log_std) in tangents.iter_mut().zip(log_std) {
                    *tangent *= (-2.0 * log_std).exp();
                }
            }
            Categorical { .. } => {
                let normaliser = log_sum_exp(outputs);
                let probability = |output: &f64| (output - normaliser).exp();
                let pairs = outputs.iter().zip(&*tangents);
                let mean: f64 = pairs.map(|(output, tangent)| probability(output) * tangent).sum();
                for (tangent, output) in tangents.iter_mut().zip(outputs) {
                    *tangent = probability(output) * (*tangent - mean);
                }
            }
        }
    }

    /// The Kullback-Leibler divergence of the `other` distribution from this one, each given as
    /// outputs and logarithms of standard deviations: KL(this ‖ other).
    pub(crate) fn divergence(
        self,
        (outputs, log_std): (&[f64], &[f64]),
        (other_outputs, other_log_std): (&[f64], &[f64]),
    ) -> f64 {
        match self {
            Gaussian { size } => (0..size)
                .map(|index| {
                    let wider = log_std[index] - other_log_std[index];
                    let inverse = (-other_log_std[index]).exp();
                    let moved = (outputs[index] - other_outputs[index]) * inverse;
                    0.5 * ((2.0 * wider).exp() + moved * moved - 1.0) - wider
                })
                .sum(),
            Categorical { .. } => {
                let (normaliser, other_normaliser) =
                    (log_sum_exp(outputs), log_sum_exp(other_outputs));
                let each = outputs.iter().zip(other_outputs).map(|(output, other)| {
                    let log = output - normaliser;
                    log.exp() * (log - (other - other_normaliser))
                });
                each.sum()
            }
        }
    }

    pub(crate) fn entropy(self, outputs: &[f64], log_std: &[f64]) -> f64 {
        match self {
            Gaussian { .. } => log_std.iter().map(|log_std| log_std + 0.5 * (LN_TAU + 1.0)).sum(),
            Categorical { .. } => {
                let normaliser = log_sum_exp(outputs);
                let each = outputs.iter().map(|output| {
                    let log = output - normaliser;
                    -log.exp() * log
                });
                each.sum()
            }
        }
    }

    /// Adds the gradients of `weight` times the entropy.
    pub(crate) fn add_entropy_gradient(
        self,
        outputs: &[f64],
        weight: f64,
        of_outputs: &mut [f64],
        of_log_std: &mut [f64],
    ) {
        match self {
            Gaussian { .. } => of_log_std.iter_mut().for_each(|sum| *sum += weight),
            Categorical { .. } => {
                let normaliser = log_sum_exp(outputs);
                let entropy = self.entropy(outputs, &[]);
                for (sum, output) in of_outputs.iter_mut().zip(outputs) {
                    let log = output - normaliser;
                    *sum -= weight * log.exp() * (log + entropy);
                }
            }
        }
    }
}

/// ln Σ exp, without overflow.
fn log_sum_exp(values: &[f64]) -> f64 {
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    greatest + values.iter().map(|value| (value - greatest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A distribution, its outputs, the logarithms of its standard deviations, and an action.
    type Case = (Distribution, &'static [f64], &'static [f64], &'static [f64]);

    const CASES: [Case; 2] = [
        (Gaussian { size: 2 }, &[0.3, -1.2], &[-0.4, 0.5], &[0.9, -2.0]),
        (Categorical { choices: 4 }, &[0.3, -1.2, 2.0, 0.1], &[], &[3.0]),
    ];

    fn numeric(at: impl Fn(f64) -> f64) -> f64 {
        (at(1e-6) - at(-1e-6)) / 2e-6
    }

    fn moved(values: &[f64], index: usize, step: f64) -> Vec<f64> {
        let mut values = values.to_vec();
        values[index] += step;
        values
    }

    /// Sums `f` times the density over a grid, or over the choices.
    fn expectation(
        distribution: Distribution,
        outputs: &[f64],
        log_std: &[f64],
        f: impl Fn(&[f64]) -> f64,
    ) -> f64 {
        let density = |action: &[f64]| distribution.log_probability(outputs, log_std, action).exp();
        match distribution {
            Categorical { choices } => {
                (0..choices).map(|choice| [choice as f64]).map(|a| density(&a) * f(&a)).sum()
            }
            Gaussian { .. } => {
                let grid = || (-160..=160).map(|tick| f64::from(tick) / 10.0);
                let pairs = grid().flat_map(|x| grid().map(move |y| [x, y]));
                pairs.map(|action| density(&action) * f(&action)).sum::<f64>() / 100.0
            }
        }
    }

    #[test]
    fn densities_entropies_and_divergences_are_those_of_numeric_integration() {
        for (distribution, outputs, log_std, _) in CASES {
            let close = |found: f64, expected: f64| {
                assert!((found - expected).abs() < 1e-9, "{distribution:?}: {found} {expected}");
            };
            close(expectation(distribution, outputs, log_std, |_| 1.0), 1.0);
            let log = |action: &[f64]| distribution.log_probability(outputs, log_std, action);
            let entropy = expectation(distribution, outputs, log_std, |action| -log(action));
            close(distribution.entropy(outputs, log_std), entropy);

            let other_outputs: Vec<f64> = outputs.iter().map(|output| 0.5 - output).collect();
            let other_log_std: Vec<f64> = log_std.iter().map(|log_std| log_std + 0.3).collect();
            let divergence = expectation(distribution, outputs, log_std, |action| {
                log(action) - distribution.log_probability(&other_outputs, &other_log_std, action)
            });
            let other = (&other_outputs[..], &other_log_std[..]);
            close(distribution.divergence((outputs, log_std), other), divergence);
            close(distribution.divergence((outputs, log_std), (outputs, log_std)), 0.0);
        }
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        for (distribution, outputs, log_std, action) in CASES {
            let mut of_outputs = vec![0.0; outputs.len()];
            let mut of_log_std = vec![0.0; log_std.len()];
            let weighted = (action, 0.7);
            distribution.log_probability_gradient(
                outputs,
                log_std,
                weighted,
                &mut of_outputs,
                &mut of_log_std,
            );
            distribution.add_entropy_gradient(outputs, 0.2, &mut of_outputs, &mut of_log_std);
            let value = |outputs: &[f64], log_std: &[f64]| {
                0.7 * distribution.log_probability(outputs, log_std, action)
                    + 0.2 * distribution.entropy(outputs, log_std)
            };
            for (index, found) in of_outputs.iter().enumerate() {
                let expected = numeric(|step| value(&moved(outputs, index, step), log_std));
                assert!((found - expected).abs() < 1e-8, "{distribution:?} output {index}");
            }
            for (index, found) in of_log_std.iter().enumerate() {
                let expected = numeric(|step| value(outputs, &moved(log_std, index, step)));
                assert!((found - expected).abs() < 1e-8, "{distribution:?} log std {index}");
            }
        }
    }

    #[test]
    fn the_fisher_matrix_is_the_expected_square_of_the_score() {
        for (distribution, outputs, log_std, _) in CASES {
            let n = outputs.len();
            let score = |action: &[f64]| {
                let (mut score, mut rest) = (vec![0.0; n], vec![0.0; log_std.len()]);
                distribution.log_probability_gradient(
                    outputs,
                    log_std,
                    (action, 1.0),
                    &mut score,
                    &mut rest,
                );
                (score, rest)
            };
            for column in 0..n {
                let mut found = moved(&vec![0.0; n], column, 1.0);
                distribution.times_fisher(outputs, log_std, &mut found);
                for (row, found) in found.iter().enumerate() {
                    let expected = expectation(distribution, outputs, log_std, |action| {
                        let (score, _) = score(action);
                        score[row] * score[column]
                    });
                    assert!((found - expected).abs() < 1e-9, "{distribution:?} {row} {column}");
                }
            }
            for index in 0..log_std.len() {
                let found = expectation(distribution, outputs, log_std, |action| {
                    score(action).1[index].powi(2)
                });
                assert!((found - 2.0).abs() < 1e-9, "log std {index}: {found}");
            }
        }
    }

    #[test]
    fn samples_are_as_frequent_as_the_density_says() {
        let mut random = Random::new(4);
        for (distribution, outputs, log_std, _) in CASES {
            let mut action = vec![0.0; distribution.action_width()];
            let mut mean = 0.0;
            for _ in 0..100_000 {
                distribution.sample(outputs, log_std, &mut random, &mut action);
                mean += distribution.log_probability(outputs, log_std, &action) / 1e5;
            }
            let entropy = distribution.entropy(outputs, log_std);
            assert!((mean + entropy).abs() < 0.02, "{distribution:?}: {mean} {entropy}");
        }
    }

    #[test]
    fn the_mode_is_the_likeliest_action() {
        let (distribution, outputs, ..) = CASES[1];
        let mut action = [0.0];
        distribution.mode(outputs, &mut action);
        assert_eq!(action, [2.0]);
    }
}
