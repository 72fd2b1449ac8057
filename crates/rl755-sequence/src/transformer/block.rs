//! A layer of the transformer: self-attention, then a feed-forward network.

use burn::{
    module::{Initializer, Module},
    nn::{Dropout, DropoutConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig},
    tensor::{
        Device, Tensor, TensorData,
        activation::{gelu, softmax},
    },
};

use crate::transformer::TransformerConfig;

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
    dropout: Dropout,
    heads: usize,
}

/// What a layer gives.
pub(super) struct BlockOutput {
    /// The normalised output of self-attention, `[batch, length, width]`.
    pub(super) hidden: Tensor<3>,
    /// The layer's output, `[batch, length, width]`.
    pub(super) output: Tensor<3>,
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
            dropout: DropoutConfig::new(config.dropout).init(),
            heads: config.heads,
        }
    }

    /// `x` and the output are `[batch, length, width]`.
    pub(super) fn forward(&self, x: Tensor<3>) -> BlockOutput {
        let attended = self.attend(self.attention_norm.forward(x.clone()));
        let x = x + self.dropout.forward(attended);
        let hidden = self.feed_forward_norm.forward(x.clone());
        let fed = self.contraction.forward(gelu(self.expansion.forward(hidden.clone())));
        BlockOutput { hidden, output: x + self.dropout.forward(fed) }
    }

    /// Causal multi-head self-attention (Vaswani et al. 2017).
    fn attend(&self, x: Tensor<3>) -> Tensor<3> {
        let [batch, length, width] = x.dims();
        let size = width / self.heads;
        let split = |x: Tensor<3>| x.reshape([batch, length, self.heads, size]).swap_dims(1, 2);
        let query = split(self.query.forward(x.clone())); // [batch, heads, length, size]
        let key = split(self.key.forward(x.clone()));
        let value = split(self.value.forward(x));
        let scores = query.matmul(key.transpose()) * (1.0 / (size as f64).sqrt());
        let weights = softmax(scores + causal_mask(length, &value.device()), 3);
        let attended = self.dropout.forward(weights).matmul(value);
        self.projection.forward(attended.swap_dims(1, 2).reshape([batch, length, width]))
    }
}

/// `[1, 1, length, length]`: nearly minus infinity where a step would look at a later one.
fn causal_mask(length: usize, device: &Device) -> Tensor<4> {
    let allowed = |i: usize| if i % length <= i / length { 0.0f32 } else { -1e9 };
    let values: Vec<f32> = (0..length * length).map(allowed).collect();
    Tensor::from_data(TensorData::new(values, [1, 1, length, length]), device)
}

/// A linear layer with Glorot's uniform weights and zero biases.
pub(super) fn linear(from: usize, to: usize, device: &Device) -> Linear {
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
