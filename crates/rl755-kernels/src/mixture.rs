//! Mixtures of normal distributions (Bishop 1994), one for each of several dimensions.

use burn::tensor::{Tensor, activation::log_softmax};
use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use crate::{Operation, View, apply, elementwise::exp, runs_here};

/// ln(2π) / 2.
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

/// The negative logarithm of the density of each row of `targets`, `[rows, width]`, averaged over
/// the width, in nats: `[rows]`.
///
/// `raw` is `[rows, 3 · width · mixtures]`: the logits of the mixtures' weights, their means, and
/// the logarithms of their standard deviations, `[width, mixtures]` each.
pub fn mixture_negative_log_likelihood(raw: Tensor<2>, targets: Tensor<2>) -> Tensor<1> {
    if runs_here(&raw) {
        return apply(Mixture, [raw.into_dispatch(), targets.into_dispatch()]);
    }
    composed(raw, targets)
}

fn composed(raw: Tensor<2>, targets: Tensor<2>) -> Tensor<1> {
    let [rows, width] = targets.dims();
    let mixtures = raw.dims()[1] / (3 * width);
    let block = |index: usize| {
        let size = width * mixtures;
        raw.clone().narrow(1, index * size, size).reshape([rows * width, mixtures])
    };
    let targets = targets.reshape([rows * width, 1]);
    let (log_weights, means, log_std_devs) = (log_softmax(block(0), 1), block(1), block(2));
    let scaled = (targets - means) * log_std_devs.clone().neg().exp();
    let log_densities = log_weights - scaled.square() * 0.5 - log_std_devs - HALF_LN_TAU;
    // log-sum-exp over the mixtures, with the largest taken out.
    let largest = log_densities.clone().detach().max_dim(1);
    let sums = (log_densities - largest.clone()).exp().sum_dim(1).log() + largest;
    -sums.reshape([rows, width]).mean_dim(1).reshape([rows])
}

/// Rows that a thread takes together.
const ROWS: usize = 16;

#[derive(Debug)]
struct Mixture;

impl Operation<2> for Mixture {
    /// The gradients of raw mixtures and targets.
    type Saved = [Vec<f32>; 2];

    fn forward(&self, [raw, targets]: [View<'_>; 2]) -> (Vec<usize>, Vec<f32>, [Vec<f32>; 2]) {
        let [rows, width] = [targets.shape[0], targets.shape[1]];
        let mixtures = raw.shape[1] / (3 * width);
        let mut output = vec![0.0; rows];
        let mut of_raw = raw.values.to_vec();
        let mut of_targets = targets.values.to_vec();
        (
            output.par_chunks_mut(ROWS),
            of_raw.par_chunks_mut(ROWS * raw.shape[1]),
            of_targets.par_chunks_mut(ROWS * width),
        )
            .into_par_iter()
            .for_each(|(output, raw, targets)| {
                Arch::new().dispatch(Rows { output, raw, targets, mixtures });
            });
        (vec![rows], output, [of_raw, of_targets])
    }

    fn uses_output(&self) -> bool {
        false
    }

    fn backward(
        &self,
        _inputs: [View<'_>; 2],
        _output: View<'_>,
        saved: &[Vec<f32>; 2],
        gradient: View<'_>,
        wanted: [bool; 2],
    ) -> [Option<Vec<f32>>; 2] {
        let scaled = |slopes: &Vec<f32>| {
            let mut slopes = slopes.clone();
            let width = slopes.len() / gradient.values.len().max(1);
            for (row, factor) in slopes.chunks_exact_mut(width.max(1)).zip(gradient.values) {
                row.iter_mut().for_each(|slope| *slope *= factor);
            }
            slopes
        };
        [wanted[0].then(|| scaled(&saved[0])), wanted[1].then(|| scaled(&saved[1]))]
    }
}

/// Some rows, compiled for each set of vector instructions.
struct Rows<'a> {
    output: &'a mut [f32],
    /// Raw mixtures; then the output's gradient.
    raw: &'a mut [f32],
    /// Targets; then the output's gradient.
    targets: &'a mut [f32],
    mixtures: usize,
}

impl NullaryFnOnce for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mixtures = self.mixtures;
        let width = self.targets.len() / self.output.len();
        let size = width * mixtures;
        // For each mixture of a row: 1 / its standard deviation, the scaled distance of the target,
        // the logarithm of the density times the weight (unnormalised), and the weight.
        let [mut inverses, mut distances, mut densities, mut weights] =
            [(); 4].map(|()| vec![0.0f32; size]);
        let rows = self.raw.chunks_exact_mut(3 * size).zip(self.targets.chunks_exact_mut(width));
        for ((raw, targets), output) in rows.zip(self.output) {
            let (logits, rest) = raw.split_at_mut(size);
            let (means, log_std_devs) = rest.split_at_mut(size);
            for (to, target) in distances.chunks_exact_mut(mixtures).zip(&*targets) {
                to.fill(*target);
            }
            for i in 0..size {
                inverses[i] = exp(-log_std_devs[i]);
                distances[i] = (distances[i] - means[i]) * inverses[i];
                densities[i] = logits[i] - 0.5 * distances[i] * distances[i] - log_std_devs[i];
            }
            let mut total = 0.0;
            let groups =
                densities.chunks_exact_mut(mixtures).zip(weights.chunks_exact_mut(mixtures));
            for ((densities, weights), logits) in groups.zip(logits.chunks_exact(mixtures)) {
                let largest = |x: &[f32]| x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let (density, logit) = (largest(densities), largest(logits));
                total += density - logit;
                for ((d, w), l) in densities.iter_mut().zip(weights).zip(logits) {
                    (*d, *w) = (*d - density, l - logit);
                }
            }
            for i in 0..size {
                (densities[i], weights[i]) = (exp(densities[i]), exp(weights[i]));
            }
            let groups =
                densities.chunks_exact_mut(mixtures).zip(weights.chunks_exact_mut(mixtures));
            for (densities, weights) in groups {
                let (density, weight) =
                    (densities.iter().sum::<f32>(), weights.iter().sum::<f32>());
                total += (density / weight).ln();
                densities.iter_mut().for_each(|d| *d /= density);
                weights.iter_mut().for_each(|w| *w /= weight);
            }
            *output = HALF_LN_TAU as f32 - total / width as f32;
            // What a mixture contributed is now in `densities`.
            let share = 1.0 / width as f32;
            for i in 0..size {
                let share = share * densities[i];
                logits[i] = weights[i] / width as f32 - share;
                means[i] = -share * distances[i] * inverses[i];
                log_std_devs[i] = share * (1.0 - distances[i] * distances[i]);
            }
            for (target, means) in targets.iter_mut().zip(means.chunks_exact(mixtures)) {
                *target = -means.iter().sum::<f32>();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{check, check_agree, check_threads};

    #[test]
    fn values_and_gradients_are_those_of_the_definition() {
        for [rows, width, mixtures] in [[1, 1, 1], [7, 3, 4], [18, 2, 5]] {
            let shapes: [&[usize]; 2] = [&[rows, 3 * width * mixtures], &[rows, width]];
            check(Mixture, shapes, |[raw, targets]| {
                let row = |(raw, targets): (&[f64], &[f64])| {
                    let log_density = |dimension: usize| {
                        let at = |block: usize, m: usize| {
                            raw[block * width * mixtures + dimension * mixtures + m]
                        };
                        let (mut density, mut total) = (0.0, 0.0);
                        for m in 0..mixtures {
                            let (weight, std_dev) = (at(0, m).exp(), at(2, m).exp());
                            let distance = (targets[dimension] - at(1, m)) / std_dev;
                            let normal = (-distance.powi(2) / 2.0).exp()
                                / (std_dev * std::f64::consts::TAU.sqrt());
                            density += weight * normal;
                            total += weight;
                        }
                        (density / total).ln()
                    };
                    -(0..width).map(log_density).sum::<f64>() / width as f64
                };
                raw.chunks(3 * width * mixtures).zip(targets.chunks(width)).map(row).collect()
            });
        }
    }

    #[test]
    fn kernel_and_burn_agree() {
        let call = |f: fn(Tensor<2>, Tensor<2>) -> Tensor<1>| {
            move |x: &[Tensor<1>]| {
                f(x[0].clone().reshape([70, 3 * 6 * 5]) * 2.0, x[1].clone().reshape([70, 6]))
            }
        };
        let both = [mixture_negative_log_likelihood, composed].map(call);
        let shapes: [&[usize]; 2] = [&[70 * 3 * 6 * 5], &[70 * 6]];
        check_agree::<2, 1>(&shapes, [&both[0], &both[1]]);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        check_threads(Mixture, [&[50, 60], &[50, 4]]);
    }
}
