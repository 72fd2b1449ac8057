//! The LSTM (Hochreiter & Schmidhuber 1997; with forget gates, Gers et al. 2000).

use burn::{
    module::{Initializer, Module, Param},
    tensor::{Device, Tensor, TensorData, activation::sigmoid},
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
    ///
    /// Works with batches as columns: gates are then rows that lie together, and no product,
    /// forwards or backwards, has its large factor transposed, which takes flex several times as
    /// long. `tanh(x)` is `2 σ(2x) - 1`, a quarter of the time.
    pub(crate) fn forward(&self, inputs: Tensor<3>) -> Tensor<2> {
        let [batch, length, input] = inputs.dims();
        let size = self.hidden_size;
        let device = inputs.device();
        // The candidate's rows are doubled for its tanh.
        let doubled = |gate: usize| if gate == 2 { 2.0f32 } else { 1.0 };
        let factors: Vec<f32> = (0..4 * size).map(|row| doubled(row / size)).collect();
        let factors = Tensor::<2>::from_data(TensorData::new(factors, [1, 4 * size]), &device);
        let hidden_weight = (self.hidden_weight.val() * factors.clone()).transpose();
        // The bias is the weight of an input that is always 1.
        let bias = self.bias.val().unsqueeze::<2>();
        let input_weight = Tensor::cat(vec![self.input_weight.val(), bias], 0) * factors;
        let input_weight = input_weight.transpose(); // [4 · hidden, input + 1]
        let ones = Tensor::ones([length, 1, batch], &device);
        let inputs = Tensor::cat(vec![inputs.permute([1, 2, 0]), ones], 1); // [length, input + 1, batch]

        let mut hidden = Tensor::<2>::zeros([size, batch], &device);
        let mut cell = Tensor::<2>::zeros([size, batch], &device);
        let mut outputs = Vec::with_capacity(length);
        for step in 0..length {
            // A product for each step: taking a step out of one large product would cost a
            // gradient of the whole for each step.
            let input = inputs.clone().narrow(0, step, 1).reshape([input + 1, batch]);
            let gates = input_weight.clone().matmul(input) + hidden_weight.clone().matmul(hidden);
            let gates = sigmoid(gates); // [4 · hidden, batch]
            let gate = |index: usize| gates.clone().narrow(0, index * size, size);
            cell = gate(1) * cell + gate(0) * (gate(2) * 2.0 - 1.0);
            hidden = gate(3) * (sigmoid(cell.clone() * 2.0) * 2.0 - 1.0);
            outputs.push(hidden.clone());
        }
        Tensor::cat(outputs, 1).transpose()
    }
}
