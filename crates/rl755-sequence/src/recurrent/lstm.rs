//! The LSTM (Hochreiter & Schmidhuber 1997; with forget gates, Gers et al. 2000).

use burn::{
    module::{Initializer, Module, Param},
    tensor::{Device, Tensor},
};
use rl755_kernels::{LstmWeights, lstm};
use rl755_nn::values;

use crate::kernel::Dense;

/// An LSTM with one bias for each gate, as TensorFlow has it (PyTorch has two, which add up).
///
/// Gates lie side by side in the order input, forget, candidate, output:
/// `c' = σ(f)·c + σ(i)·tanh(g)`, `h' = σ(o)·tanh(c')`.
#[derive(Module, Debug)]
pub(crate) struct Lstm {
    /// `[input, 4 · hidden]`.
    pub(crate) input_weight: Param<Tensor<2>>,
    /// `[hidden, 4 · hidden]`.
    pub(crate) hidden_weight: Param<Tensor<2>>,
    /// `[4 · hidden]`.
    pub(crate) bias: Param<Tensor<1>>,
    pub(crate) hidden_size: usize,
}

impl Lstm {
    /// With Glorot's uniform weights over both matrices together, as they are one in TensorFlow,
    /// and biases 0, those of the forget gates 1 (Jozefowicz et al. 2015).
    pub(crate) fn new(input: usize, hidden: usize, device: &Device) -> Self {
        let glorot = |rows: usize| {
            let initializer = Initializer::XavierUniform { gain: 1.0 };
            let (fan_in, fan_out) = (Some(input + hidden), Some(4 * hidden));
            initializer.init_with([rows, 4 * hidden], fan_in, fan_out, device)
        };
        let (input_weight, hidden_weight) = (glorot(input), glorot(hidden));
        let zeros = |size: usize| Tensor::<1>::zeros([size], device);
        let ones = Tensor::<1>::ones([hidden], device);
        let bias = Tensor::cat(vec![zeros(hidden), ones, zeros(2 * hidden)], 0);
        let bias = Param::from_tensor(bias);
        Self { input_weight, hidden_weight, bias, hidden_size: hidden }
    }

    /// The hidden states after each step of `inputs`, `[batch, length, input]`:
    /// `[batch, length, hidden]`. Begins with zeros.
    pub(crate) fn forward(&self, inputs: Tensor<3>) -> Tensor<3> {
        let weights = LstmWeights {
            input: self.input_weight.val(),
            hidden: self.hidden_weight.val(),
            bias: self.bias.val(),
        };
        lstm(inputs, weights)
    }

    /// Inputs and hidden state to the four gates, after training.
    pub(crate) fn gates(&self) -> Dense {
        let mut weight = values(self.input_weight.val());
        weight.extend(values(self.hidden_weight.val()));
        Dense::new(&weight, &values(self.bias.val()))
    }
}
