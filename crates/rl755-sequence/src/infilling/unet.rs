//! A U-Net over sequences (Ronneberger et al. 2015, in one dimension) in training.

use burn::{
    module::Module,
    nn::{LayerNorm, LayerNormConfig, Linear},
    tensor::{Device, Tensor},
};

use rl755_kernels::gelu;

use crate::layers::{apply_linear, apply_norm, linear};

/// The sizes of a U-Net.
#[derive(Clone, Copy, Debug)]
pub(super) struct UNetSizes {
    /// Numbers in a step that is taken in.
    pub(super) input: usize,
    /// Numbers in a step's features; each level further down has twice as many.
    pub(super) channels: usize,
    /// Levels below the first; each has half as many steps, rounded up.
    pub(super) depth: usize,
    /// Numbers in a step that is given.
    pub(super) output: usize,
}

impl UNetSizes {
    /// Numbers in the outputs of all layers for a sequence of `length` steps, about.
    pub(super) fn activations(&self, length: usize) -> usize {
        // Of a level: two blocks, in which convolutions see each step three times; its steps on the
        // way down and up and both side by side.
        let level = |level: usize| {
            let channels = 28 * (self.channels << level);
            channels.saturating_mul(length.div_ceil(1 << level))
        };
        let ends = (3 * self.input + 3 * self.channels + self.output).saturating_mul(length);
        (0..=self.depth).map(level).fold(ends, usize::saturating_add)
    }
}

/// Steps on the way down are halved by a convolution of two steps with stride 2, on the way up
/// doubled by a transposed one, joined with those of the same length on the way down. Whatever
/// lies beyond the ends of a sequence is 0; any length of 1 or more will do.
#[derive(Module, Debug)]
pub(super) struct UNet {
    pub(super) input: Linear,
    /// One for each level, the last for the bottom.
    pub(super) down_blocks: Vec<Block>,
    /// From two steps of a level to one of the level below.
    pub(super) downs: Vec<Linear>,
    /// From a step of the level below to two.
    pub(super) ups: Vec<Linear>,
    /// From a step from below and one on the way down, side by side.
    pub(super) merges: Vec<Linear>,
    pub(super) up_blocks: Vec<Block>,
    pub(super) norm: LayerNorm,
    pub(super) output: Linear,
}

/// A residual block: normalisation, then two convolutions of three steps.
#[derive(Module, Debug)]
pub(super) struct Block {
    pub(super) norm: LayerNorm,
    pub(super) first: Linear,
    pub(super) second: Linear,
}

impl Block {
    fn new(channels: usize, device: &Device) -> Self {
        Self {
            norm: LayerNormConfig::new(channels).init(device),
            first: linear(3 * channels, channels, device),
            second: linear(3 * channels, channels, device),
        }
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let inner = convolve(&self.first, normalise(&self.norm, x.clone()));
        let [batch, length, channels] = inner.dims();
        let inner = gelu(inner.reshape([batch * length, channels]));
        x + convolve(&self.second, inner.reshape([batch, length, channels]))
    }
}

impl UNet {
    pub(super) fn new(sizes: &UNetSizes, device: &Device) -> Self {
        let width = |level: usize| sizes.channels << level;
        let blocks = |levels| (0..levels).map(|level| Block::new(width(level), device)).collect();
        let between = |from: usize, to: usize| linear(from, to, device);
        let levels = 0..sizes.depth;
        Self {
            input: linear(3 * sizes.input, sizes.channels, device),
            down_blocks: blocks(sizes.depth + 1),
            downs: levels.clone().map(|i| between(2 * width(i), width(i + 1))).collect(),
            ups: levels.clone().map(|i| between(width(i + 1), 2 * width(i))).collect(),
            merges: levels.map(|i| between(2 * width(i), width(i))).collect(),
            up_blocks: blocks(sizes.depth),
            norm: LayerNormConfig::new(sizes.channels).init(device),
            output: linear(sizes.channels, sizes.output, device),
        }
    }

    /// The features `[batch, length, channels]` and outputs `[batch, length, output]` of `x`,
    /// `[batch, length, input]`.
    pub(super) fn forward(&self, x: Tensor<3>) -> (Tensor<3>, Tensor<3>) {
        let mut x = convolve(&self.input, x);
        let mut passed = Vec::with_capacity(self.downs.len());
        for (block, down) in self.down_blocks.iter().zip(&self.downs) {
            let level = block.forward(x);
            x = halve(down, level.clone());
            passed.push(level);
        }
        // The bottom.
        if let Some(block) = self.down_blocks.last() {
            x = block.forward(x);
        }
        let levels = self.ups.iter().zip(&self.merges).zip(&self.up_blocks);
        for (((up, merge), block), level) in levels.zip(passed).rev() {
            let length = level.dims()[1];
            let both = Tensor::cat(vec![double(up, x, length), level], 2);
            x = block.forward(each_step(merge, both));
        }
        let features = normalise(&self.norm, x);
        let output = each_step(&self.output, features.clone());
        (features, output)
    }
}

/// Normalises each step of `x`, `[batch, length, channels]`.
fn normalise(norm: &LayerNorm, x: Tensor<3>) -> Tensor<3> {
    let shape = x.dims();
    apply_norm(norm, x.flatten(0, 1)).reshape(shape)
}

/// `layer` on each step of `x`, `[batch, length, channels]`.
fn each_step(layer: &Linear, x: Tensor<3>) -> Tensor<3> {
    let [batch, length, channels] = x.dims();
    let y = apply_linear(layer, x.reshape([batch * length, channels]));
    let outputs = y.dims()[1];
    y.reshape([batch, length, outputs])
}

/// A convolution of three steps: `layer` on each step between its two neighbours.
fn convolve(layer: &Linear, x: Tensor<3>) -> Tensor<3> {
    let [batch, length, channels] = x.dims();
    let beyond = Tensor::zeros([batch, 1, channels], &x.device());
    let padded = Tensor::cat(vec![beyond.clone(), x, beyond], 1);
    let steps = (0..3).map(|i| padded.clone().narrow(1, i, length)).collect();
    each_step(layer, Tensor::cat(steps, 2))
}

/// A convolution of two steps with stride 2.
fn halve(layer: &Linear, x: Tensor<3>) -> Tensor<3> {
    let [batch, length, channels] = x.dims();
    let x = if length.is_multiple_of(2) {
        x
    } else {
        let beyond = Tensor::zeros([batch, 1, channels], &x.device());
        Tensor::cat(vec![x, beyond], 1)
    };
    each_step(layer, x.reshape([batch, length.div_ceil(2), 2 * channels]))
}

/// A transposed convolution of two steps with stride 2, of which the first `length` are kept.
fn double(layer: &Linear, x: Tensor<3>, length: usize) -> Tensor<3> {
    let y = each_step(layer, x);
    let [batch, half, channels] = y.dims();
    y.reshape([batch, 2 * half, channels / 2]).narrow(1, 0, length)
}
