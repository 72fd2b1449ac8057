//! The convolutional encoders without tensors, for the CPU.
//!
//! Frames stay `[height, width, channel]`, and the weights are turned around once. This is faster
//! than the model on the device `flex`, above all for few frames, and the result for a frame has
//! the same bits whatever is encoded with it.

use std::cell::RefCell;

use burn::nn::{Linear, conv::Conv2d};
use rl755_kernels::{Activation, PackedConvolution};
use rl755_nn::values;
use serde::{Deserialize, Serialize};

use crate::{
    CpuEncoder,
    frozen_linear::{FrozenLinear, split},
    layers::options,
};

/// How a network gives the standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// As ln σ².
    LogVariance,
    /// σ = ln(1 + eˣ).
    Softplus,
}

impl Spread {
    pub(crate) fn std_dev(self, raw: f32) -> f32 {
        match self {
            Self::LogVariance => (0.5 * raw).exp(),
            Self::Softplus => raw.max(0.0) + (-raw.abs()).exp().ln_1p(),
        }
    }
}

/// `layer` with ReLU, for frames of that height, width and channels.
fn packed(frame: [usize; 3], layer: &Conv2d) -> PackedConvolution {
    let shape = layer.weight.dims();
    let bias = layer.bias.as_ref().map(|bias| values(bias.val()));
    let options = options(layer.stride, Activation::Relu);
    let weight = values(layer.weight.val());
    PackedConvolution::new(frame, (shape, &weight), bias.as_deref(), options)
}

/// A convolutional encoder: convolutions with ReLU, then a linear layer.
pub(crate) struct FrozenConvEncoder {
    layers: Vec<PackedConvolution>,
    /// Means, then raw spreads if there are any.
    head: FrozenLinear,
    latent: usize,
    /// `None` for deterministic encoders.
    spread: Option<Spread>,
}

impl FrozenConvEncoder {
    /// For frames of `size`×`size` pixels with `channels` values each.
    pub(crate) fn new(
        (size, channels): (usize, usize),
        convs: &[&Conv2d],
        mean: &Linear,
        raw_spread: &Linear,
        spread: Spread,
    ) -> Self {
        let mut frozen =
            Self::channels_last([size, size, channels], convs, &[mean, raw_spread], Some(spread));
        let [height, width, from] = frozen.layers[frozen.layers.len() - 1].output();
        // burn flattens [from, y, x]; here the channel comes last.
        let (head, columns) = (std::mem::take(&mut frozen.head.weight), frozen.head.outputs());
        for place in 0..height * width {
            for channel in 0..from {
                let row = channel * height * width + place;
                frozen.head.weight.extend(&head[row * columns..][..columns]);
            }
        }
        frozen
    }

    /// For frames of that height, width and channels, with heads that take features `[y, x, channel]`:
    /// the mean, and the raw spread where there is one.
    pub(crate) fn channels_last(
        mut frame: [usize; 3],
        convs: &[&Conv2d],
        heads: &[&Linear],
        spread: Option<Spread>,
    ) -> Self {
        assert_eq!(heads.len(), 1 + usize::from(spread.is_some()), "a head for mean and spread");
        let layers = convs.iter().map(|conv| {
            let layer = packed(frame, conv);
            frame = layer.output();
            layer
        });
        let layers: Vec<PackedConvolution> = layers.collect();
        let latent = heads[0].weight.dims()[1];
        Self { layers, head: FrozenLinear::beside(heads), latent, spread }
    }
}

/// Buffers that a thread keeps: fresh ones would cost as much as the arithmetic.
#[derive(Default)]
struct Buffers {
    input: Vec<f32>,
    output: Vec<f32>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

impl CpuEncoder for FrozenConvEncoder {
    fn encode(&self, observations: &[f32], mean: &mut [f32], std_dev: Option<&mut [f32]>) {
        BUFFERS.with_borrow_mut(|Buffers { input, output }| {
            let mut first = Some(observations);
            for layer in &self.layers {
                layer.forward(first.take().unwrap_or(input), output);
                std::mem::swap(input, output);
            }
            self.head.forward(input, output);
            split(output, self.latent, self.spread, mean, std_dev);
        });
    }

    fn is_stochastic(&self) -> bool {
        self.spread.is_some()
    }
}
