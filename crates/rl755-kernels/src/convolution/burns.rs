//! The same layers by burn's own operations, for other devices.

use burn::tensor::{
    Tensor,
    activation::relu,
    module,
    ops::{ConvOptions as BurnOptions, ConvTransposeOptions},
};

use super::{Activation, ConvOptions};

pub(crate) fn conv2d(
    x: Tensor<4>,
    weight: Tensor<4>,
    bias: Option<Tensor<1>>,
    options: ConvOptions,
) -> Tensor<4> {
    let burn = BurnOptions::new(options.stride, options.padding, [1; 2], 1);
    finish(module::conv2d(channel_first(x), weight, bias, burn), options.activation)
}

pub(crate) fn conv_transpose2d(
    x: Tensor<4>,
    weight: Tensor<4>,
    bias: Option<Tensor<1>>,
    options: ConvOptions,
) -> Tensor<4> {
    let burn = ConvTransposeOptions::new(options.stride, options.padding, [0; 2], [1; 2], 1);
    finish(module::conv_transpose2d(channel_first(x), weight, bias, burn), options.activation)
}

/// `[batch, channel, height, width]`.
fn channel_first(x: Tensor<4>) -> Tensor<4> {
    x.permute([0, 3, 1, 2])
}

fn finish(x: Tensor<4>, activation: Activation) -> Tensor<4> {
    let x = match activation {
        Activation::None => x,
        Activation::Relu => relu(x),
    };
    x.permute([0, 2, 3, 1])
}
