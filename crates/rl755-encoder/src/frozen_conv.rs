//! The convolutional encoders without tensors, for the CPU.
//!
//! Frames stay `[height, width, channel]`. Each convolution gathers what its kernel sees at every
//! place into a row (im2col) and is then one matrix product for several frames at once. This is
//! more than twice as fast as the flex device, and the result for a frame has the same bits
//! whatever is encoded with it.

use std::cell::RefCell;

use burn::{
    nn::{Linear, conv::Conv2d},
    tensor::Tensor,
};

use serde::{Deserialize, Serialize};

use crate::{CpuEncoder, matrix_product::multiply};

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

/// The weights of a convolution without padding, with a square kernel.
pub(crate) struct ConvWeights {
    from: usize,
    to: usize,
    kernel: usize,
    stride: usize,
    /// `[kernel, kernel, from, to]`.
    weight: Vec<f32>,
    /// `[to]`.
    bias: Vec<f32>,
}

impl ConvWeights {
    pub(crate) fn of(layer: &Conv2d) -> Self {
        let [to, from, kernel, _] = layer.weight.dims();
        // [to, from, kernel, kernel] -> [kernel, kernel, from, to]
        let weight = values(layer.weight.val().permute([2, 3, 1, 0]));
        Self {
            from,
            to,
            kernel,
            stride: layer.stride[0],
            weight,
            bias: bias(layer.bias.as_ref(), to),
        }
    }
}

/// One convolution at the size it is used at.
struct Layer {
    weights: ConvWeights,
    /// Height and width.
    size_in: [usize; 2],
    size_out: [usize; 2],
}

impl Layer {
    /// Places of one frame's output.
    fn places(&self) -> usize {
        self.size_out[0] * self.size_out[1]
    }

    /// What the kernel sees at one place.
    fn depth(&self) -> usize {
        self.weights.kernel * self.weights.kernel * self.weights.from
    }

    /// Values of one frame's input and output.
    fn widths(&self) -> (usize, usize) {
        let [height, width] = self.size_in;
        (height * width * self.weights.from, self.places() * self.weights.to)
    }

    /// Gathers one frame's patches, `[places, depth]`.
    fn gather(&self, frame: &[f32], patches: &mut [f32]) {
        let ConvWeights { from, kernel, stride, .. } = self.weights;
        let run = kernel * from;
        for (place, patch) in patches.chunks_exact_mut(self.depth()).enumerate() {
            let [y, x] = [place / self.size_out[1], place % self.size_out[1]].map(|at| at * stride);
            for (row, to) in patch.chunks_exact_mut(run).enumerate() {
                let begin = ((y + row) * self.size_in[1] + x) * from;
                to.copy_from_slice(&frame[begin..begin + run]);
            }
        }
    }

    /// Convolves frames and takes the positive part.
    fn forward(&self, input: &[f32], patches: &mut Vec<f32>, output: &mut Vec<f32>) {
        let (width_in, width_out) = self.widths();
        let (places, depth, to) = (self.places(), self.depth(), self.weights.to);
        output.resize(input.len() / width_in * width_out, 0.0);
        // About a thousand rows at once: the patches then fit the second-level cache.
        let frames = (1024 / places).max(1);
        let tiles = input.chunks(frames * width_in).zip(output.chunks_mut(frames * width_out));
        for (input, output) in tiles {
            let rows = output.len() / to;
            patches.resize(rows * depth, 0.0);
            let each = input.chunks_exact(width_in).zip(patches.chunks_exact_mut(places * depth));
            each.for_each(|(frame, patches)| self.gather(frame, patches));
            multiply([rows, depth, to], patches, &self.weights.weight, output);
            for row in output.chunks_exact_mut(to) {
                for (value, bias) in row.iter_mut().zip(&self.weights.bias) {
                    *value = (*value + bias).max(0.0);
                }
            }
        }
    }
}

/// A convolutional encoder: convolutions with ReLU, then a linear layer.
pub(crate) struct FrozenVae {
    layers: Vec<Layer>,
    /// Means, then raw spreads if there are any: `[features, latent]` or `[features, 2 · latent]`.
    head: Vec<f32>,
    /// As many as `head` has columns.
    head_bias: Vec<f32>,
    latent: usize,
    /// `None` for deterministic encoders.
    spread: Option<Spread>,
}

impl FrozenVae {
    /// For frames of `size`×`size` pixels with `channels` values each.
    pub(crate) fn new(
        (size, channels): (usize, usize),
        convs: Vec<ConvWeights>,
        mean: &Linear,
        raw_spread: &Linear,
        spread: Spread,
    ) -> Self {
        let mut frozen =
            Self::channels_last([size, size, channels], convs, &[mean, raw_spread], Some(spread));
        let last = &frozen.layers[frozen.layers.len() - 1];
        let ([height, width], from) = (last.size_out, last.weights.to);
        // burn flattens [from, y, x]; here the channel comes last.
        let (head, columns) = (std::mem::take(&mut frozen.head), frozen.head_bias.len());
        for place in 0..height * width {
            for channel in 0..from {
                let row = channel * height * width + place;
                frozen.head.extend(&head[row * columns..][..columns]);
            }
        }
        frozen
    }

    /// For frames of that height, width and channels, with heads that take features `[y, x, channel]`:
    /// the mean, and the raw spread where there is one.
    pub(crate) fn channels_last(
        [height, width, channels]: [usize; 3],
        convs: Vec<ConvWeights>,
        heads: &[&Linear],
        spread: Option<Spread>,
    ) -> Self {
        assert_eq!(heads.len(), 1 + usize::from(spread.is_some()), "a head for mean and spread");
        let (mut size_in, mut from) = ([height, width], channels);
        let layers = convs.into_iter().map(|weights| {
            assert_eq!(weights.from, from, "each layer takes what the one before gives");
            let size_out = size_in.map(|side| (side - weights.kernel) / weights.stride + 1);
            let layer = Layer { size_in, size_out, weights };
            (size_in, from) = (size_out, layer.weights.to);
            layer
        });
        let layers: Vec<Layer> = layers.collect();
        let latent = heads[0].weight.dims()[1];
        let head = values(Tensor::cat(heads.iter().map(|h| h.weight.val()).collect(), 1));
        let head_bias = heads.iter().flat_map(|head| bias(head.bias.as_ref(), latent)).collect();
        Self { layers, head, head_bias, latent, spread }
    }
}

/// Buffers that a thread keeps: fresh ones would cost as much as the arithmetic.
#[derive(Default)]
struct Buffers {
    patches: Vec<f32>,
    input: Vec<f32>,
    output: Vec<f32>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

impl CpuEncoder for FrozenVae {
    fn encode(&self, observations: &[f32], mean: &mut [f32], std_dev: Option<&mut [f32]>) {
        BUFFERS.with_borrow_mut(|Buffers { patches, input, output }| {
            let mut first = Some(observations);
            for layer in &self.layers {
                layer.forward(first.take().unwrap_or(input), patches, output);
                std::mem::swap(input, output);
            }
            let columns = self.head_bias.len();
            let features = self.head.len() / columns;
            let rows = input.len() / features;
            output.resize(rows * columns, 0.0);
            multiply([rows, features, columns], input, &self.head, output);
            for row in output.chunks_exact_mut(columns) {
                row.iter_mut().zip(&self.head_bias).for_each(|(value, bias)| *value += bias);
            }
            for (to, row) in mean.chunks_exact_mut(self.latent).zip(output.chunks_exact(columns)) {
                to.copy_from_slice(&row[..self.latent]);
            }
            let (Some(std_dev), Some(spread)) = (std_dev, self.spread) else { return };
            for (to, row) in std_dev.chunks_exact_mut(self.latent).zip(output.chunks_exact(columns))
            {
                let raw = &row[self.latent..];
                to.iter_mut().zip(raw).for_each(|(to, &raw)| *to = spread.std_dev(raw));
            }
        });
    }

    fn is_stochastic(&self) -> bool {
        self.spread.is_some()
    }
}

pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().convert::<f32>().try_into_vec::<f32>().expect("converted to f32 just now")
}

pub(crate) fn bias(bias: Option<&burn::module::Param<Tensor<1>>>, width: usize) -> Vec<f32> {
    bias.map_or_else(|| vec![0.0; width], |bias| values(bias.val()))
}
