//! Layer normalisation (Ba, Kiros & Hinton 2016).

use burn::tensor::Tensor;
use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use crate::{Operation, View, apply, linear::add, runs_here};

/// `(x - mean) / sqrt(variance + epsilon) · scale + shift` for each row of `x`, `[rows, width]`,
/// with `scale` and `shift`, `[width]`.
pub fn layer_norm(x: Tensor<2>, scale: Tensor<1>, shift: Tensor<1>, epsilon: f64) -> Tensor<2> {
    if runs_here(&x) {
        let inputs = [x.into_dispatch(), scale.into_dispatch(), shift.into_dispatch()];
        return apply(LayerNorm { epsilon: epsilon as f32 }, inputs);
    }
    composed(x, scale, shift, epsilon)
}

fn composed(x: Tensor<2>, scale: Tensor<1>, shift: Tensor<1>, epsilon: f64) -> Tensor<2> {
    let centred = x.clone() - x.mean_dim(1);
    let variance = centred.clone().square().mean_dim(1);
    centred / (variance + epsilon).sqrt() * scale.unsqueeze::<2>() + shift.unsqueeze::<2>()
}

/// Rows that a thread takes together, and whose gradients of scale and shift are summed together.
const ROWS: usize = 64;

/// Partial sums, added up last, so that compilers can use vectors.
const LANES: usize = 16;

#[derive(Debug)]
struct LayerNorm {
    epsilon: f32,
}

/// The mean and `1 / sqrt(variance + epsilon)` of each row.
type Moments = Vec<[f32; 2]>;

impl Operation<3> for LayerNorm {
    type Saved = Moments;

    fn forward(&self, [x, scale, shift]: [View<'_>; 3]) -> (Vec<usize>, Vec<f32>, Moments) {
        let [rows, width] = [x.shape[0], x.shape[1]];
        let mut y = vec![0.0; rows * width];
        let mut moments = vec![[0.0; 2]; rows];
        let (scale, shift, epsilon) = (scale.values, shift.values, self.epsilon);
        (
            y.par_chunks_mut(ROWS * width),
            moments.par_chunks_mut(ROWS),
            x.values.par_chunks(ROWS * width),
        )
            .into_par_iter()
            .for_each(|(y, moments, x)| {
                Arch::new().dispatch(Forward { x, scale, shift, epsilon, y, moments });
            });
        (vec![rows, width], y, moments)
    }

    fn uses_output(&self) -> bool {
        false
    }

    fn backward(
        &self,
        [x, scale, _]: [View<'_>; 3],
        _output: View<'_>,
        moments: &Moments,
        gradient: View<'_>,
        // All come from one pass over the numbers: to leave some out would save little.
        _wanted: [bool; 3],
    ) -> [Option<Vec<f32>>; 3] {
        let [rows, width] = [x.shape[0], x.shape[1]];
        let mut inputs = vec![0.0; rows * width];
        let parts: Vec<[Vec<f32>; 2]> = (
            inputs.par_chunks_mut(ROWS * width),
            moments.par_chunks(ROWS),
            x.values.par_chunks(ROWS * width),
            gradient.values.par_chunks(ROWS * width),
        )
            .into_par_iter()
            .map(|(inputs, moments, x, gradient)| {
                let mut sums = [vec![0.0; width], vec![0.0; width]];
                let scale = scale.values;
                Arch::new().dispatch(Backward {
                    x,
                    scale,
                    moments,
                    gradient,
                    inputs,
                    sums: &mut sums,
                });
                sums
            })
            .collect();
        let mut sums = [vec![0.0; width], vec![0.0; width]];
        for part in &parts {
            sums.iter_mut().zip(part).for_each(|(sum, part)| add(sum, part));
        }
        let [scale, shift] = sums;
        [Some(inputs), Some(scale), Some(shift)]
    }
}

struct Forward<'a> {
    x: &'a [f32],
    scale: &'a [f32],
    shift: &'a [f32],
    epsilon: f32,
    y: &'a mut [f32],
    moments: &'a mut [[f32; 2]],
}

impl NullaryFnOnce for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { x, scale, shift, epsilon, y, moments } = self;
        let width = scale.len();
        let rows = x.chunks_exact(width).zip(y.chunks_exact_mut(width)).zip(moments);
        for ((x, y), moments) in rows {
            let mean = sum(x, x, |x, _| x) / width as f32;
            let variance = sum(x, x, |x, _| (x - mean) * (x - mean)) / width as f32;
            let factor = 1.0 / (variance + epsilon).sqrt();
            *moments = [mean, factor];
            for ((y, x), (scale, shift)) in y.iter_mut().zip(x).zip(scale.iter().zip(shift)) {
                *y = (x - mean) * factor * scale + shift;
            }
        }
    }
}

struct Backward<'a> {
    x: &'a [f32],
    scale: &'a [f32],
    moments: &'a [[f32; 2]],
    gradient: &'a [f32],
    /// The gradient of `x`.
    inputs: &'a mut [f32],
    /// Those of scale and shift.
    sums: &'a mut [Vec<f32>; 2],
}

impl NullaryFnOnce for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { x, scale, moments, gradient, inputs, sums: [scales, shifts] } = self;
        let width = scale.len();
        let (scales, shifts) = (&mut scales[..width], &mut shifts[..width]);
        let mut scaled = vec![0.0f32; width];
        for (row, [mean, factor]) in moments.iter().enumerate() {
            let at = row * width..(row + 1) * width;
            let (x, g) = (&x[at.clone()], &gradient[at.clone()]);
            let inputs = &mut inputs[at];
            for i in 0..width {
                let normed = (x[i] - mean) * factor;
                inputs[i] = normed;
                scaled[i] = g[i] * scale[i];
                scales[i] += g[i] * normed;
                shifts[i] += g[i];
            }
            let mean = sum(&scaled, &scaled, |s, _| s) / width as f32;
            let slope = sum(&scaled, inputs, |s, n| s * n) / width as f32;
            for (to, s) in inputs.iter_mut().zip(&scaled) {
                *to = (s - mean - *to * slope) * factor;
            }
        }
    }
}

/// The sum of `f` over two slices of the same length.
#[inline(always)]
fn sum(x: &[f32], y: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let (whole_x, rest_x) = x.as_chunks::<LANES>();
    let (whole_y, rest_y) = y.as_chunks::<LANES>();
    for (x, y) in whole_x.iter().zip(whole_y) {
        for i in 0..LANES {
            lanes[i] += f(x[i], y[i]);
        }
    }
    for (i, (x, y)) in rest_x.iter().zip(rest_y).enumerate() {
        lanes[i] += f(*x, *y);
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{check, check_agree, check_threads};

    #[test]
    fn values_and_gradients_are_those_of_the_definition() {
        for [rows, width] in [[1, 2], [3, 16], [5, 37], [70, 3]] {
            let shapes: [&[usize]; 3] = [&[rows, width], &[width], &[width]];
            check(LayerNorm { epsilon: 1e-3 }, shapes, |[x, scale, shift]| {
                let rows = x.chunks(width).flat_map(|row| {
                    let mean = row.iter().sum::<f64>() / width as f64;
                    let variance =
                        row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
                    let norm = move |x: f64| (x - mean) / (variance + 1e-3).sqrt();
                    row.iter().zip(scale).zip(shift).map(move |((x, s), b)| norm(*x) * s + b)
                });
                rows.collect()
            });
        }
    }

    #[test]
    fn kernel_and_burn_agree() {
        let call = |f: fn(Tensor<2>, Tensor<1>, Tensor<1>, f64) -> Tensor<2>| {
            move |x: &[Tensor<1>]| {
                f(x[0].clone().reshape([300, 40]), x[1].clone(), x[2].clone(), 1e-5)
            }
        };
        check_agree::<3, 2>(&[&[300, 40], &[40], &[40]], [&call(layer_norm), &call(composed)]);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        check_threads(LayerNorm { epsilon: 1e-5 }, [&[300, 40], &[40], &[40]]);
    }
}
