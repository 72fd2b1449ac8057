//! Convolutions and transposed convolutions for frames of any size.

use burn::{
    module::Module,
    nn::{
        Linear,
        conv::{Conv2d, ConvTranspose2d},
    },
    tensor::{
        Device, Tensor,
        activation::{relu, sigmoid},
    },
};
use rl755_kernels::Activation;
use rl755_nn::linear;

use crate::{
    conv_settings::Level,
    frozen_conv::{FrozenConvEncoder, Spread},
    layers::{conv, convolve, deconvolve, kernel, oblong_deconv},
};

/// Frames to features.
#[derive(Module, Debug)]
pub(crate) struct ConvEncoder {
    convs: Vec<Conv2d>,
    #[module(skip)]
    levels: Vec<Level>,
}

impl ConvEncoder {
    pub(crate) fn new(levels: &[Level], device: &Device) -> Self {
        let one = |level: &Level| {
            let Level { channels_in, channels_out, kernel: size, stride, .. } = *level;
            conv(channels_in, channels_out, kernel(size, stride), device)
        };
        Self { convs: levels.iter().map(one).collect(), levels: levels.to_vec() }
    }

    /// Height, width and channels of the frames.
    pub(crate) fn frame_shape(&self) -> [usize; 3] {
        let Level { size_in: [height, width], channels_in, .. } = self.levels[0];
        [height, width, channels_in]
    }

    /// The encoder without tensors: these convolutions and `heads` on their features, the mean and,
    /// where there is one, the spread.
    pub(crate) fn on_cpu(&self, heads: &[&Linear], spread: Option<Spread>) -> FrozenConvEncoder {
        let convs: Vec<&Conv2d> = self.convs.iter().collect();
        FrozenConvEncoder::channels_last(self.frame_shape(), &convs, heads, spread)
    }

    pub(crate) fn features(&self) -> usize {
        features(&self.levels)
    }

    /// Numbers that the layers give for one frame.
    pub(crate) fn activations(&self) -> usize {
        let given = |level: &Level| level.size_out[0] * level.size_out[1] * level.channels_out;
        self.levels.iter().map(given).sum()
    }

    /// `[batch, features]`, the channel last, of frames `[batch, height · width · channel]`.
    pub(crate) fn forward(&self, frames: Tensor<2>) -> Tensor<2> {
        let [height, width, channels] = self.frame_shape();
        let batch = frames.dims()[0];
        let mut x = frames.reshape([batch, height, width, channels]);
        for conv in &self.convs {
            x = convolve(conv, x, Activation::Relu);
        }
        x.flatten(1, 3)
    }
}

/// Latents to frames: the mirror image of [`ConvEncoder`].
#[derive(Module, Debug)]
pub(crate) struct ConvDecoder {
    expand: Linear,
    deconvs: Vec<ConvTranspose2d>,
    #[module(skip)]
    levels: Vec<Level>,
}

impl ConvDecoder {
    pub(crate) fn new(latent_size: usize, levels: &[Level], device: &Device) -> Self {
        let one = |level: &Level| {
            let Level { channels_in: to, channels_out: from, stride, .. } = *level;
            oblong_deconv(from, to, (level.kernel_back(), stride), device)
        };
        Self {
            expand: linear(latent_size, features(levels), device),
            deconvs: levels.iter().rev().map(one).collect(),
            levels: levels.to_vec(),
        }
    }

    /// Numbers that the layers give for one frame.
    pub(crate) fn activations(&self) -> usize {
        let given = |level: &Level| level.size_in[0] * level.size_in[1] * level.channels_in;
        features(&self.levels) + self.levels.iter().map(given).sum::<usize>()
    }

    /// Frames in 0..=1, `[batch, height · width · channel]`, of latents `[batch, latent]`.
    pub(crate) fn forward(&self, latents: Tensor<2>) -> Tensor<2> {
        let Level { size_out: [height, width], channels_out, .. } =
            self.levels[self.levels.len() - 1];
        let x = relu(self.expand.forward(latents));
        let batch = x.dims()[0];
        let mut x = x.reshape([batch, height, width, channels_out]);
        for (index, layer) in self.deconvs.iter().enumerate() {
            let last = index + 1 == self.deconvs.len();
            x = deconvolve(layer, x, if last { Activation::None } else { Activation::Relu });
        }
        sigmoid(x.flatten(1, 3))
    }
}

/// Values of the last convolution's output.
fn features(levels: &[Level]) -> usize {
    let Level { size_out: [height, width], channels_out, .. } = levels[levels.len() - 1];
    height * width * channels_out
}
