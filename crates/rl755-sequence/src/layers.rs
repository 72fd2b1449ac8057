//! burn's layers, computed by our kernels.

use burn::{nn, tensor::Tensor};
use rl755_kernels::{layer_norm, linear as linear_kernel};
pub(crate) use rl755_nn::linear;

/// What burn's layer normalisation adds to variances, by default.
pub(crate) const NORM_EPSILON: f64 = 1e-5;

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
