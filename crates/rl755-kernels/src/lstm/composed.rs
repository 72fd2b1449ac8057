//! The LSTM in burn's own operations.

use burn::tensor::{
    Tensor,
    activation::{sigmoid, tanh},
};

use super::LstmWeights;

/// As [`lstm`](super::lstm).
pub(super) fn lstm(inputs: Tensor<3>, weights: LstmWeights) -> Tensor<3> {
    let [batch, length, input] = inputs.dims();
    let size = weights.hidden.dims()[0];
    let device = inputs.device();
    let bias = weights.bias.unsqueeze::<2>();
    // One product for the inputs of all steps.
    let inputs = inputs.swap_dims(0, 1).reshape([length * batch, input]);
    let inputs = inputs.matmul(weights.input) + bias;
    let mut hidden = Tensor::<2>::zeros([batch, size], &device);
    let mut cell = Tensor::<2>::zeros([batch, size], &device);
    let mut outputs = Vec::with_capacity(length);
    for input in inputs.split(batch, 0) {
        let gates = input + hidden.matmul(weights.hidden.clone()); // [batch, 4 · hidden]
        let gate = |index: usize| gates.clone().narrow(1, index * size, size);
        cell = sigmoid(gate(1)) * cell + sigmoid(gate(0)) * tanh(gate(2));
        hidden = sigmoid(gate(3)) * tanh(cell.clone());
        outputs.push(hidden.clone());
    }
    Tensor::stack(outputs, 1)
}
