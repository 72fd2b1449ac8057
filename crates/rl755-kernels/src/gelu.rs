//! The Gaussian error linear unit.

use burn::tensor::{Tensor, activation::sigmoid as burn_sigmoid};
use rayon::prelude::*;

use crate::{
    Operation, View, apply,
    elementwise::{gelu_all, sigmoid},
    runs_here,
    simd::vectorized,
};

/// `2u = x · (COEFFICIENTS[0] + COEFFICIENTS[1] · x²)`: 2 √(2/π), and that times 0.044715.
const COEFFICIENTS: [f64; 2] = [1.595_769_121_605_731, 0.071_354_816_272_600_3];

/// The Gaussian error linear unit (Hendrycks & Gimpel 2016) in the form with tanh, as in BERT:
/// `x/2 · (1 + tanh(u))`, with `u = √(2/π) (x + 0.044715 x³)`, which is `x · σ(2u)`.
pub fn gelu<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    if runs_here(&x) { apply(Gelu, [x.into_dispatch()]) } else { composed(x) }
}

fn composed<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let factor = x.clone() * x.clone() * COEFFICIENTS[1] + COEFFICIENTS[0];
    x.clone() * burn_sigmoid(x * factor)
}

/// Numbers that a thread takes together.
const PART: usize = 1 << 14;

#[derive(Debug)]
struct Gelu;

impl Operation<1> for Gelu {
    type Saved = ();

    fn forward(&self, [x]: [View<'_>; 1]) -> (Vec<usize>, Vec<f32>, ()) {
        let mut y = x.values.to_vec();
        y.par_chunks_mut(PART).for_each(gelu_all);
        (x.shape.to_vec(), y, ())
    }

    fn uses_output(&self) -> bool {
        false
    }

    fn backward(
        &self,
        [x]: [View<'_>; 1],
        _output: View<'_>,
        (): &(),
        gradient: View<'_>,
        wanted: [bool; 1],
    ) -> [Option<Vec<f32>>; 1] {
        let backward = || {
            let mut gradient = gradient.values.to_vec();
            let parts = gradient.par_chunks_mut(PART).zip(x.values.par_chunks(PART));
            parts.for_each(|(gradient, x)| back(gradient, x));
            gradient
        };
        [wanted[0].then(backward)]
    }
}

/// Multiplies `gradient` by the derivative at `x`.
fn back(gradient: &mut [f32], x: &[f32]) {
    vectorized(
        #[inline(always)]
        move || {
            let [a, b] = COEFFICIENTS.map(|c| c as f32);
            for (gradient, &x) in gradient.iter_mut().zip(x) {
                let square = x * x;
                let s = sigmoid(x * square.mul_add(b, a));
                let slope = square.mul_add(3.0 * b, a); // of 2u
                *gradient *= (x * (1.0 - s) * slope).mul_add(s, s);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{check, check_agree};

    #[test]
    fn values_and_gradients_are_those_of_the_definition() {
        check(Gelu, [&[7, 13]], |[x]| {
            let u = |x: f64| (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            x.iter().map(|x| 0.5 * x * (1.0 + u(*x).tanh())).collect()
        });
    }

    #[test]
    fn kernel_and_burn_agree() {
        let [kernel, burn]: [fn(Tensor<1>) -> Tensor<1>; 2] = [gelu, composed];
        let call = |f: fn(Tensor<1>) -> Tensor<1>| move |x: &[Tensor<1>]| f(x[0].clone());
        check_agree::<1, 1>(&[&[40_000]], [&call(kernel), &call(burn)]);
    }
}
