//! Convolutions with [Glorot's weights](glorot) and zero biases, computed by our kernels.

use burn::{
    module::{Initializer, Param},
    nn::conv::{Conv2d, Conv2dConfig, ConvTranspose2d, ConvTranspose2dConfig},
    tensor::{Device, Tensor},
};
use rl755_kernels::{Activation, ConvOptions, conv_transpose2d, conv2d};
use rl755_nn::glorot;

/// A square kernel and its stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub(crate) size: usize,
    pub(crate) stride: usize,
}

/// A kernel of `size` and `stride`.
pub(crate) const fn kernel(size: usize, stride: usize) -> Kernel {
    Kernel { size, stride }
}

fn zeros(size: usize, device: &Device) -> Option<Param<Tensor<1>>> {
    Some(Initializer::Zeros.init([size], device))
}

/// A convolution without padding.
pub(crate) fn conv(from: usize, to: usize, kernel: Kernel, device: &Device) -> Conv2d {
    let Kernel { size, stride } = kernel;
    let mut layer = Conv2dConfig::new([from, to], [size; 2]).with_stride([stride; 2]).init(device);
    let area = size * size;
    layer.weight = glorot([to, from, size, size], [from * area, to * area], device);
    layer.bias = zeros(to, device);
    layer
}

/// A transposed convolution without padding.
pub(crate) fn deconv(from: usize, to: usize, kernel: Kernel, device: &Device) -> ConvTranspose2d {
    oblong_deconv(from, to, ([kernel.size; 2], kernel.stride), device)
}

/// A transposed convolution without padding, with a kernel of that height and width and a stride.
pub(crate) fn oblong_deconv(
    from: usize,
    to: usize,
    (kernel, stride): ([usize; 2], usize),
    device: &Device,
) -> ConvTranspose2d {
    let config = ConvTranspose2dConfig::new([from, to], kernel).with_stride([stride; 2]);
    let mut layer = config.init(device);
    let [height, width] = kernel;
    let area = height * width;
    layer.weight = glorot([from, to, height, width], [from * area, to * area], device);
    layer.bias = zeros(to, device);
    layer
}

/// Without padding.
pub(crate) fn options(stride: [usize; 2], activation: Activation) -> ConvOptions {
    ConvOptions { stride, activation, ..ConvOptions::default() }
}

/// What `layer` makes of frames, `[batch, height, width, channel]`.
pub(crate) fn convolve(layer: &Conv2d, x: Tensor<4>, activation: Activation) -> Tensor<4> {
    let options = options(layer.stride, activation);
    conv2d(x, layer.weight.val(), layer.bias.as_ref().map(Param::val), options)
}

/// What `layer` makes of frames, `[batch, height, width, channel]`.
pub(crate) fn deconvolve(
    layer: &ConvTranspose2d,
    x: Tensor<4>,
    activation: Activation,
) -> Tensor<4> {
    let options = options(layer.stride, activation);
    conv_transpose2d(x, layer.weight.val(), layer.bias.as_ref().map(Param::val), options)
}
