//! The LSTM (Hochreiter & Schmidhuber 1997; with forget gates, Gers et al. 2000).

use burn::{
    module::{Initializer, Module, Param},
    tensor::{
        Device, Tensor,
        activation::{sigmoid, tanh},
    },
};

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

    /// The hidden states after each step, `[length · batch, hidden]`, one step after another, for
    /// `inputs`, `[batch, length, input]`; begins with zeros.
    pub(crate) fn forward(&self, inputs: Tensor<3>) -> Tensor<2> {
        let [batch, length, input] = inputs.dims();
        let size = self.hidden_size;
        let inputs = inputs.swap_dims(0, 1).reshape([length * batch, input]);
        let device = inputs.device();
        let (input_weight, hidden_weight) = (self.input_weight.val(), self.hidden_weight.val());
        let bias = self.bias.val().unsqueeze::<2>();
        let mut hidden = Tensor::zeros([batch, size], &device);
        let mut cell = Tensor::zeros([batch, size], &device);
        let mut outputs = Vec::with_capacity(length);
        for step in 0..length {
            // A product for each step: taking a step out of one large product would cost a
            // gradient of the whole for each step.
            let input = inputs.clone().narrow(0, step * batch, batch); // [batch, input]
            let gates = input.matmul(input_weight.clone())
                + hidden.matmul(hidden_weight.clone())
                + bias.clone(); // [batch, 4 · hidden]
            let gate = |index: usize| gates.clone().narrow(1, index * size, size);
            cell = sigmoid(gate(1)) * cell + sigmoid(gate(0)) * tanh(gate(2));
            hidden = sigmoid(gate(3)) * tanh(cell.clone());
            outputs.push(hidden.clone());
        }
        Tensor::cat(outputs, 0)
    }
}
