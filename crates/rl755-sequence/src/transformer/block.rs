//! A layer of the transformer: self-attention, then a feed-forward network.

use burn::{
    module::Module,
    nn::{LayerNorm, LayerNormConfig, Linear},
    tensor::{Device, Tensor},
};
use rl755_kernels::{causal_attention, gelu};

use crate::{
    dropout::{dropout, mask},
    layers::{apply_linear, apply_norm, linear},
    transformer::TransformerConfig,
};

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
        let attended = self.attend(apply_norm(&self.attention_norm, x.clone()), shape);
        let x = x + dropout(attended, self.dropout);
        let hidden = apply_norm(&self.feed_forward_norm, x.clone());
        let wide = gelu(apply_linear(&self.expansion, hidden.clone()));
        let fed = apply_linear(&self.contraction, wide);
        BlockOutput { hidden, output: x + dropout(fed, self.dropout) }
    }

    /// Causal multi-head self-attention (Vaswani et al. 2017).
    fn attend(&self, x: Tensor<2>, [batch, length]: [usize; 2]) -> Tensor<2> {
        let width = x.dims()[1];
        let inputs = [&self.query, &self.key, &self.value]
            .map(|layer| apply_linear(layer, x.clone()).reshape([batch, length, width]));
        let shape = [batch, self.heads, length, length];
        let mask = mask(shape, self.dropout, &inputs[0].device());
        let attended = causal_attention(inputs, self.heads, mask);
        apply_linear(&self.projection, attended.reshape([batch * length, width]))
    }
}
