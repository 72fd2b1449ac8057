//! Linear layers.

use burn::tensor::Tensor;
use rayon::prelude::*;

use crate::{
    Operation, View, apply,
    matrix_product::{Matrix, Store, par_multiply},
    runs_here,
};

/// `x·W + b` for each row of `x`, `[rows, inputs]`, with `weight`, `[inputs, outputs]`, and `bias`,
/// `[outputs]`: `[rows, outputs]`.
pub fn linear(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<2> {
    if runs_here(&x) {
        return apply(Linear, [x.into_dispatch(), weight.into_dispatch(), bias.into_dispatch()]);
    }
    composed(x, weight, bias)
}

fn composed(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<2> {
    x.matmul(weight) + bias.unsqueeze::<2>()
}

#[derive(Debug)]
struct Linear;

impl Operation<3> for Linear {
    type Saved = ();

    fn forward(&self, [x, weight, bias]: [View<'_>; 3]) -> (Vec<usize>, Vec<f32>, ()) {
        let (rows, outputs) = (x.shape[0], bias.values.len());
        let mut y = repeated(bias.values, rows);
        par_multiply(matrix(x), matrix(weight), &mut y, Store::Add);
        (vec![rows, outputs], y, ())
    }

    fn uses_output(&self) -> bool {
        false
    }

    fn backward(
        &self,
        [x, weight, _]: [View<'_>; 3],
        _output: View<'_>,
        (): &(),
        gradient: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Vec<f32>>; 3] {
        let product = |left: Matrix<'_>, right: Matrix<'_>| {
            let mut product = vec![0.0; left.shape()[0] * right.shape()[1]];
            par_multiply(left, right, &mut product, Store::Set);
            product
        };
        let values = gradient.values;
        let gradient = matrix(gradient);
        [
            wanted[0].then(|| product(gradient, matrix(weight).transposed())),
            wanted[1].then(|| product(matrix(x).transposed(), gradient)),
            wanted[2].then(|| column_sums(values, gradient.shape()[1])),
        ]
    }
}

/// A view of rank 2 as a matrix.
pub(crate) fn matrix(view: View<'_>) -> Matrix<'_> {
    Matrix::new(view.values, [view.shape[0], view.shape[1]])
}

/// `row`, `rows` times.
pub(crate) fn repeated(row: &[f32], rows: usize) -> Vec<f32> {
    let mut values = Vec::with_capacity(rows * row.len());
    (0..rows).for_each(|_| values.extend_from_slice(row));
    values
}

/// Rows whose sums a thread takes together.
const ROWS: usize = 64;

/// The sum over the rows of `values`, which have `columns` numbers.
pub(crate) fn column_sums(values: &[f32], columns: usize) -> Vec<f32> {
    let parts: Vec<Vec<f32>> = values
        .par_chunks(ROWS * columns)
        .map(|rows| {
            let mut sums = vec![0.0; columns];
            rows.chunks_exact(columns).for_each(|row| add(&mut sums, row));
            sums
        })
        .collect();
    let mut sums = vec![0.0; columns];
    parts.iter().for_each(|part| add(&mut sums, part));
    sums
}

/// Adds `y` to `x`.
#[inline(always)]
pub(crate) fn add(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{check, check_agree, check_threads};

    #[test]
    fn values_and_gradients_are_those_of_the_definition() {
        for [rows, inputs, outputs] in [[1, 1, 1], [3, 5, 1], [7, 1, 4], [20, 13, 9]] {
            check(
                Linear,
                [&[rows, inputs], &[inputs, outputs], &[outputs]],
                |[x, weight, bias]| {
                    let at = |i: usize| {
                        let (row, column) = (i / outputs, i % outputs);
                        let terms =
                            (0..inputs).map(|k| x[row * inputs + k] * weight[k * outputs + column]);
                        bias[column] + terms.sum::<f64>()
                    };
                    (0..rows * outputs).map(at).collect()
                },
            );
        }
    }

    #[test]
    fn kernel_and_burn_agree() {
        let call = |f: fn(Tensor<2>, Tensor<2>, Tensor<1>) -> Tensor<2>| {
            move |x: &[Tensor<1>]| {
                let (input, weight) = (x[0].clone(), x[1].clone());
                f(input.reshape([300, 40]), weight.reshape([40, 700]), x[2].clone())
            }
        };
        let shapes: [&[usize]; 3] = [&[300, 40], &[40, 700], &[700]];
        check_agree::<3, 2>(&shapes, [&call(linear), &call(composed)]);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        check_threads(Linear, [&[300, 40], &[40, 700], &[700]]);
    }
}
