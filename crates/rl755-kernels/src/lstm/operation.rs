//! The LSTM as an operation: large products for all steps, and the recurrence between them.

use super::recurrence::{Recurrence, Sequences};
use crate::{
    Operation, View,
    linear::{column_sums, repeated},
    matrix_product::{Matrix, Store, par_multiply},
};

/// Takes inputs `[batch, length, input]`, input and hidden weights, and biases.
#[derive(Debug)]
pub(super) struct Lstm;

impl Operation<4> for Lstm {
    /// The gates after their non-linearities, `[batch, length, 4 · hidden]`, and the cells,
    /// `[batch, length, hidden]`.
    type Saved = [Vec<f32>; 2];

    fn forward(
        &self,
        [inputs, input_weight, hidden_weight, bias]: [View<'_>; 4],
    ) -> (Vec<usize>, Vec<f32>, [Vec<f32>; 2]) {
        let sizes = Sizes::of(inputs, hidden_weight);
        let Sizes { batch, length, input, hidden } = sizes;
        let mut gates = repeated(bias.values, batch * length);
        let input_weight = Matrix::new(input_weight.values, [input, 4 * hidden]);
        let rows = Matrix::new(inputs.values, [batch * length, input]);
        par_multiply(rows, input_weight, &mut gates, Store::Add);
        let mut cells = vec![0.0; batch * length * hidden];
        let mut states = vec![0.0; batch * length * hidden];
        let recurrence = Recurrence { length, hidden, weight: hidden_weight.values };
        recurrence.forward(Sequences { gates: &mut gates, cells: &mut cells, states: &mut states });
        (vec![batch, length, hidden], states, [gates, cells])
    }

    fn backward(
        &self,
        [inputs, input_weight, hidden_weight, _]: [View<'_>; 4],
        states: View<'_>,
        [gates, cells]: &[Vec<f32>; 2],
        gradient: View<'_>,
        wanted: [bool; 4],
    ) -> [Option<Vec<f32>>; 4] {
        let Sizes { batch, length, input, hidden } = Sizes::of(inputs, hidden_weight);
        let recurrence = Recurrence { length, hidden, weight: hidden_weight.values };
        // The gradient of the gates before their non-linearities.
        let mut slopes = gates.clone();
        recurrence.backward(&mut slopes, cells, gradient.values);
        let gates = Matrix::new(&slopes, [batch * length, 4 * hidden]);
        let product = |left: Matrix<'_>, right: Matrix<'_>| {
            let mut product = vec![0.0; left.shape()[0] * right.shape()[1]];
            par_multiply(left, right, &mut product, Store::Set);
            product
        };
        let rows = Matrix::new(inputs.values, [batch * length, input]);
        let input_weight = Matrix::new(input_weight.values, [input, 4 * hidden]);
        let of_hidden_weight = || {
            let before = before(states.values, length * hidden, hidden);
            let before = Matrix::new(&before, [batch * length, hidden]);
            product(before.transposed(), gates)
        };
        [
            wanted[0].then(|| product(gates, input_weight.transposed())),
            wanted[1].then(|| product(rows.transposed(), gates)),
            wanted[2].then(of_hidden_weight),
            wanted[3].then(|| column_sums(&slopes, 4 * hidden)),
        ]
    }
}

struct Sizes {
    batch: usize,
    length: usize,
    input: usize,
    hidden: usize,
}

impl Sizes {
    fn of(inputs: View<'_>, hidden_weight: View<'_>) -> Self {
        let [batch, length, input] = [inputs.shape[0], inputs.shape[1], inputs.shape[2]];
        Self { batch, length, input, hidden: hidden_weight.shape[0] }
    }
}

/// The state before each step: sequences of `size` numbers, moved on by a step.
fn before(states: &[f32], size: usize, step: usize) -> Vec<f32> {
    let mut before = vec![0.0; states.len()];
    for (before, states) in before.chunks_exact_mut(size).zip(states.chunks_exact(size)) {
        before[step..].copy_from_slice(&states[..size - step]);
    }
    before
}
