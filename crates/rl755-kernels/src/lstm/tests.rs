//! The LSTM against its definition and against burn.

use super::*;
use crate::reference::{check, check_agree};

/// The definition, for `[inputs, input weight, hidden weight, bias]`.
fn exact([inputs, input_weight, hidden_weight, bias]: [&[f64]; 4], length: usize) -> Vec<f64> {
    let size = bias.len() / 4;
    let width = input_weight.len() / (4 * size);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let mut states = Vec::new();
    for sequence in inputs.chunks(length * width) {
        let (mut state, mut cell) = (vec![0.0; size], vec![0.0; size]);
        for input in sequence.chunks(width) {
            let gate = |gate: usize, unit: usize| {
                let column = gate * size + unit;
                let weigh = |x: &[f64], weight: &[f64]| -> f64 {
                    x.iter().enumerate().map(|(k, x)| x * weight[k * 4 * size + column]).sum()
                };
                bias[column] + weigh(input, input_weight) + weigh(&state, hidden_weight)
            };
            let step = |unit: usize| {
                let kept = sigmoid(gate(1, unit)) * cell[unit];
                let cell = kept + sigmoid(gate(0, unit)) * gate(2, unit).tanh();
                (cell, sigmoid(gate(3, unit)) * cell.tanh())
            };
            (cell, state) = (0..size).map(step).unzip();
            states.extend(&state);
        }
    }
    states
}

#[test]
fn values_and_gradients_are_those_of_the_definition() {
    for [batch, length, input, hidden] in [[1, 1, 1, 1], [2, 4, 3, 5], [3, 5, 2, 1], [18, 2, 1, 3]]
    {
        let shapes: [&[usize]; 4] =
            [&[batch, length, input], &[input, 4 * hidden], &[hidden, 4 * hidden], &[4 * hidden]];
        check(operation::Lstm, shapes, |inputs| exact(inputs, length));
    }
}

#[test]
fn kernel_and_burn_agree() {
    let (batch, length, input, hidden) = (35, 7, 11, 70);
    let call = |f: fn(Tensor<3>, LstmWeights) -> Tensor<3>| {
        move |x: &[Tensor<1>]| {
            let weight = |x: &Tensor<1>, rows| x.clone().reshape([rows, 4 * hidden]) * 0.2;
            let (input_weight, hidden_weight) = (weight(&x[1], input), weight(&x[2], hidden));
            let weights =
                LstmWeights { input: input_weight, hidden: hidden_weight, bias: x[3].clone() };
            f(x[0].clone().reshape([batch, length, input]), weights)
        }
    };
    let shapes: [&[usize]; 4] =
        [&[batch * length * input], &[input * 4 * hidden], &[hidden * 4 * hidden], &[4 * hidden]];
    check_agree::<4, 3>(&shapes, [&call(lstm), &call(composed::lstm)]);
}

#[test]
fn threads_do_not_change_a_bit() {
    // Also with sums of more terms than a matrix product takes at once, and one sequence for each
    // thread.
    for (batch, hidden) in [(37, 70), (7, 140)] {
        let shapes: [&[usize]; 4] =
            [&[batch, 6, 5], &[5, 4 * hidden], &[hidden, 4 * hidden], &[4 * hidden]];
        crate::reference::check_threads(operation::Lstm, shapes);
    }
}
