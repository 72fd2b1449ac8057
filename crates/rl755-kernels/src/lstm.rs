//! An LSTM over whole sequences (Hochreiter & Schmidhuber 1997; with forget gates, Gers et al.
//! 2000).

mod composed;
mod operation;
mod recurrence;

use burn::tensor::Tensor;

use crate::{apply, runs_here};

/// The weights of an LSTM with one bias for each gate.
///
/// Gates lie side by side in the order input, forget, candidate, output:
/// `c' = σ(f)·c + σ(i)·tanh(g)`, `h' = σ(o)·tanh(c')`.
#[derive(Clone, Debug)]
pub struct LstmWeights {
    /// `[input, 4 · hidden]`.
    pub input: Tensor<2>,
    /// `[hidden, 4 · hidden]`.
    pub hidden: Tensor<2>,
    /// `[4 · hidden]`.
    pub bias: Tensor<1>,
}

/// The hidden states after each step of `inputs`, `[batch, length, input]`:
/// `[batch, length, hidden]`. Hidden states and cells begin with zeros.
pub fn lstm(inputs: Tensor<3>, weights: LstmWeights) -> Tensor<3> {
    if !runs_here(&inputs) {
        return composed::lstm(inputs, weights);
    }
    let LstmWeights { input, hidden, bias } = weights;
    let inputs = [
        inputs.into_dispatch(),
        input.into_dispatch(),
        hidden.into_dispatch(),
        bias.into_dispatch(),
    ];
    apply(operation::Lstm, inputs)
}

#[cfg(test)]
mod tests;
