//! burn's layers, computed by our kernels.

use burn::{
    module::Initializer,
    nn::{self, LinearConfig},
    tensor::{Device, Tensor},
};
use rl755_kernels::{layer_norm, linear as linear_kernel};

/// What burn's layer normalisation adds to variances, by default.
pub(crate) const NORM_EPSILON: f64 = 1e-5;

/// A linear layer with Glorot's uniform weights and zero biases.
pub(crate) fn linear(from: usize, to: usize, device: &Device) -> nn::Linear {
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

/// What `layer` makes of `x`, `[rows, inputs]`.
pub(crate) fn apply_linear(layer: &nn::Linear, x: Tensor<2>) -> Tensor<2> {
    match &layer.bias {
        Some(bias) => linear_kernel(x, layer.weight.val(), bias.val()),
        None => layer.forward(x),
    }
}

/// What `layer`, made with burn's default epsilon, makes of `x`, `[rows, width]`.
pub(crate) fn apply_norm(layer: &nn::LayerNorm, x: Tensor<2>) -> Tensor<2> {
    match &layer.beta {
        Some(beta) => layer_norm(x, layer.gamma.val(), beta.val(), NORM_EPSILON),
        None => layer.forward(x),
    }
}
