//! Layers with the weights that TensorFlow, in which the papers' code is written, begins with.

use burn::{
    module::{Initializer, Param},
    nn::{Linear, LinearConfig},
    tensor::{Device, Tensor},
};

/// Weights uniform in ±√(6 / (inputs + outputs)) (Glorot & Bengio 2010, equation 16), for a layer with
/// that many inputs and outputs of a number.
pub fn glorot<const D: usize>(
    shape: [usize; D],
    [inputs, outputs]: [usize; 2],
    device: &Device,
) -> Param<Tensor<D>> {
    let initializer = Initializer::XavierUniform { gain: 1.0 };
    initializer.init_with(shape, Some(inputs), Some(outputs), device)
}

/// A linear layer from `from` to `to` numbers, with [Glorot's](glorot) weights and zero biases.
pub fn linear(from: usize, to: usize, device: &Device) -> Linear {
    let mut layer = LinearConfig::new(from, to).init(device);
    layer.weight = glorot([from, to], [from, to], device);
    layer.bias = Some(Initializer::Zeros.init([to], device));
    layer
}
