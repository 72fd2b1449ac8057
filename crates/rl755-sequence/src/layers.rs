//! burn's layers, computed by our kernels; and what they are after training.

use burn::{nn, tensor::Tensor};
use rl755_kernels::{layer_norm, linear as linear_kernel};
pub(crate) use rl755_nn::linear;
use rl755_nn::values;

use crate::kernel::{Dense, LayerNorm};

/// What burn's layer normalisation adds to variances, by default.
const NORM_EPSILON: f64 = 1e-5;

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

/// `layer` as it is after training.
pub(crate) fn dense(layer: &nn::Linear) -> Dense {
    Dense::new(&values(layer.weight.val()), &bias(layer))
}

/// `layer`, made with burn's default epsilon, as it is after training.
pub(crate) fn norm(layer: &nn::LayerNorm) -> LayerNorm {
    let scale = values(layer.gamma.val());
    let shift = layer.beta.as_ref().map_or_else(|| vec![0.0; scale.len()], |b| values(b.val()));
    LayerNorm::new(scale, shift, NORM_EPSILON as f32)
}

/// The biases of `layer`, zeros where it has none.
pub(crate) fn bias(layer: &nn::Linear) -> Vec<f32> {
    let outputs = layer.weight.dims()[1];
    layer.bias.as_ref().map_or_else(|| vec![0.0; outputs], |bias| values(bias.val()))
}
