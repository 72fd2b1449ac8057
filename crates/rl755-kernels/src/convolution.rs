//! Convolutions and transposed convolutions of frames with the channel last.
//!
//! Supported are kernels of any height and width, any stride and any padding with zeros; not
//! dilation, groups or output padding.

mod backward;
mod burns;
mod direct;
mod geometry;
mod operations;
mod packed;
mod passes;
mod pixels;
mod weights;

use burn::tensor::Tensor;

use crate::{apply, runs_here};
use geometry::Geometry;
use operations::{Kind, Layer};
pub use packed::PackedConvolution;

/// What is done with the sums of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    #[default]
    None,
    /// The positive part.
    Relu,
}

/// How a kernel moves over a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvOptions {
    /// Pixels from a place to the next, down and to the right; at least 1.
    pub stride: [usize; 2],
    /// Rows and columns of zeros on each side of the frame: of the input of a convolution, and of
    /// the output of a transposed one, which are cut off.
    pub padding: [usize; 2],
    /// What is done with the sums.
    pub activation: Activation,
}

impl Default for ConvOptions {
    fn default() -> Self {
        Self { stride: [1; 2], padding: [0; 2], activation: Activation::None }
    }
}

/// The convolution (cross-correlation) of frames `x`, `[batch, height, width, from]`, as
/// `[batch, height', width', to]` with `height' = (height + 2 · padding - kernel) / stride + 1`,
/// rounded down.
///
/// `weight` is `[to, from, kernel height, kernel width]` and `bias` `[to]`. The bits of a frame's
/// result depend on the number of frames, not on what they are: small batches are summed in another
/// order. [`PackedConvolution`] does not have this.
///
/// # Panics
/// When the shapes do not fit, a frame has no rows, columns or channels, a stride is 0, or the kernel is larger than the padded frame.
pub fn conv2d(
    x: Tensor<4>,
    weight: Tensor<4>,
    bias: Option<Tensor<1>>,
    options: ConvOptions,
) -> Tensor<4> {
    let [_, height, width, from] = x.dims();
    let [to, weight_from, kernel_height, kernel_width] = weight.dims();
    assert_eq!(from, weight_from, "channels of the frames and of the weights");
    let kernel = [kernel_height, kernel_width];
    check(&options, kernel, [height, width, from], to);
    check_bias(&bias, to);
    let geometry = seen_by(kernel, [height, width, from], &options);
    if !(runs_here(&x) && runs_here(&weight) && bias.as_ref().is_none_or(runs_here)) {
        return burns::conv2d(x, weight, bias, options);
    }
    let (bias, has_bias) = or_empty(bias, &x);
    let (kind, activation) = (Kind::Convolution, options.activation);
    let operation = Layer { kind, geometry, has_bias, activation };
    apply(operation, [x.into_dispatch(), weight.into_dispatch(), bias.into_dispatch()])
}

/// The transposed convolution of `x`, `[batch, height, width, from]`, as frames
/// `[batch, height', width', to]` with
/// `height' = (height - 1) · stride + kernel - 2 · padding`.
///
/// `weight` is `[from, to, kernel height, kernel width]` and `bias` `[to]`. The bits of a frame's
/// result depend on the number of frames, as with [`conv2d`].
///
/// # Panics
/// When the shapes do not fit, a frame has no rows, columns or channels, a stride is 0, or the
/// padding leaves no pixel.
pub fn conv_transpose2d(
    x: Tensor<4>,
    weight: Tensor<4>,
    bias: Option<Tensor<1>>,
    options: ConvOptions,
) -> Tensor<4> {
    let [_, height, width, from] = x.dims();
    let [weight_from, to, kernel_height, kernel_width] = weight.dims();
    assert_eq!(from, weight_from, "channels of the frames and of the weights");
    let kernel = [kernel_height, kernel_width];
    check(&options, kernel, [height, width, from], to);
    check_bias(&bias, to);
    let along = |i: usize, size: usize| {
        let (whole, cut) = ((size - 1) * options.stride[i] + kernel[i], 2 * options.padding[i]);
        assert!(whole > cut, "a padding of {cut} leaves nothing of {whole} pixels");
        whole - cut
    };
    let geometry = Geometry {
        frame: [along(0, height), along(1, width), to],
        grid: [height, width],
        kernel,
        stride: options.stride,
        padding: options.padding,
    };
    if !(runs_here(&x) && runs_here(&weight) && bias.as_ref().is_none_or(runs_here)) {
        return burns::conv_transpose2d(x, weight, bias, options);
    }
    let (bias, has_bias) = or_empty(bias, &x);
    let (kind, activation) = (Kind::Transposed, options.activation);
    let operation = Layer { kind, geometry, has_bias, activation };
    apply(operation, [x.into_dispatch(), weight.into_dispatch(), bias.into_dispatch()])
}

/// What a convolution sees of frames of that height, width and channels.
fn seen_by(kernel: [usize; 2], frame: [usize; 3], options: &ConvOptions) -> Geometry {
    let ConvOptions { stride, padding, .. } = *options;
    let grid = [0, 1].map(|i| {
        let padded = frame[i] + 2 * padding[i];
        assert!(kernel[i] <= padded, "a kernel of {} on {padded} padded pixels", kernel[i]);
        (padded - kernel[i]) / stride[i] + 1
    });
    Geometry { frame, grid, kernel, stride, padding }
}

fn check(options: &ConvOptions, kernel: [usize; 2], frame: [usize; 3], to: usize) {
    assert!(frame.iter().all(|&size| size > 0), "frames of {frame:?}");
    assert!(to > 0, "no channels to convolve to");
    assert!(options.stride.iter().all(|&stride| stride > 0), "a stride of 0");
    assert!(kernel.iter().all(|&size| size > 0), "a kernel of {kernel:?}");
}

fn check_bias(bias: &Option<Tensor<1>>, to: usize) {
    if let Some(bias) = bias {
        assert_eq!(bias.dims(), [to], "a bias for each channel");
    }
}

/// The bias, and whether there is one.
fn or_empty(bias: Option<Tensor<1>>, x: &Tensor<4>) -> (Tensor<1>, bool) {
    match bias {
        Some(bias) => (bias, true),
        None => (Tensor::zeros([1], &x.device()), false),
    }
}

#[cfg(test)]
mod tests;
