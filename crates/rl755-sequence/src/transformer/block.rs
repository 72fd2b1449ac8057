//! A layer of the transformer: self-attention, then a feed-forward network.

use burn::{
    module::{Initializer, Module},
    nn::{LayerNorm, LayerNormConfig, Linear, LinearConfig},
    tensor::{
        Device, Tensor, TensorData,
        activation::{sigmoid, softmax},
    },
};

use crate::{dropout::dropout, transformer::TransformerConfig};

/// `2u = x · (GELU[0] + GELU[1] · x²)`: 2 √(2/π), and that times 0.044715.
const GELU: [f64; 2] = [1.595_769_121_605_731, 0.071_354_816_272_600_3];

/// A layer with normalisation before each part, which trains at a constant learning rate without
/// warm-up (Xiong et al. 2020).
#[derive(Module, Debug)]
pub(super) struct Block {
    pub(super) attention_norm: LayerNorm,
    pub(super) query: Linear,
    pub(super) key: Linear,
    pub(super) value: Linear,
    pub(super) projection: Linear,
    pub(super) feed_forward_norm: LayerNorm,
    pub(super) expansion: Linear,
    pub(super) contraction: Linear,
    dropout: f64,
    heads: usize,
}

/// What a layer gives.
pub(super) struct BlockOutput {
    /// The normalised output of self-attention, `[batch · length, width]`.
    pub(super) hidden: Tensor<2>,
    /// The layer's output, `[batch · length, width]`.
    pub(super) output: Tensor<2>,
}

impl Block {
    pub(super) fn new(config: &TransformerConfig, device: &Device) -> Self {
        let (width, wide) = (config.hidden_size, config.feed_forward_size);
        Self {
            attention_norm: LayerNormConfig::new(width).init(device),
            query: linear(width, width, device),
            key: linear(width, width, device),
            value: linear(width, width, device),
            projection: linear(width, width, device),
            feed_forward_norm: LayerNormConfig::new(width).init(device),
            expansion: linear(width, wide, device),
            contraction: linear(wide, width, device),
            dropout: config.dropout,
            heads: config.heads,
        }
    }

    /// `x` is `[batch · length, width]`: matrix products with one row for each step have one
    /// gradient for the weights, where products of batches would have one for each sequence.
    pub(super) fn forward(&self, x: Tensor<2>, shape: [usize; 2]) -> BlockOutput {
        let attended = self.attend(self.attention_norm.forward(x.clone()), shape);
        let x = x + dropout(attended, self.dropout);
        let hidden = self.feed_forward_norm.forward(x.clone());
        let fed = self.contraction.forward(gelu(self.expansion.forward(hidden.clone())));
        BlockOutput { hidden, output: x + dropout(fed, self.dropout) }
    }

    /// Causal multi-head self-attention (Vaswani et al. 2017).
    fn attend(&self, x: Tensor<2>, [batch, length]: [usize; 2]) -> Tensor<2> {
        let width = x.dims()[1];
        let size = width / self.heads;
        let split = |x: Tensor<2>| x.reshape([batch, length, self.heads, size]).swap_dims(1, 2);
        let query = split(self.query.forward(x.clone())); // [batch, heads, length, size]
        let key = split(self.key.forward(x.clone()));
        let value = split(self.value.forward(x));
        let scores = query.matmul(key.transpose()) * (1.0 / (size as f64).sqrt());
        let weights = softmax(scores + causal_mask(length, &value.device()), 3);
        let attended = dropout(weights, self.dropout).matmul(value);
        self.projection.forward(attended.swap_dims(1, 2).reshape([batch * length, width]))
    }
}

/// The Gaussian error linear unit (Hendrycks & Gimpel 2016) in the form with tanh, as in BERT:
/// `x/2 · (1 + tanh(u))` is `x · σ(2u)`.
pub(crate) fn gelu(x: Tensor<2>) -> Tensor<2> {
    let cubic = x.clone() * x.clone() * GELU[1] + GELU[0];
    x.clone() * sigmoid(x * cubic)
}

/// `[1, 1, length, length]`: nearly minus infinity where a step would look at a later one.
fn causal_mask(length: usize, device: &Device) -> Tensor<4> {
    let allowed = |i: usize| if i % length <= i / length { 0.0f32 } else { -1e9 };
    let values: Vec<f32> = (0..length * length).map(allowed).collect();
    Tensor::from_data(TensorData::new(values, [1, 1, length, length]), device)
}

/// A linear layer with Glorot's uniform weights and zero biases.
pub(crate) fn linear(from: usize, to: usize, device: &Device) -> Linear {
    let mut layer = LinearConfig::new(from, to).init(device);
    layer.weight = Initializer::XavierUniform { gain: 1.0 }.init_with(
        [from, to],
        Some(from),
        Some(to),
        device,
    );
    layer.bias = Some(Initializer::Zeros.init([to], device));
    layer
}
