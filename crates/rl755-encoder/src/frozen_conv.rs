//! The convolutional encoders without tensors, for the CPU.
//!
//! Frames stay `[height, width, channel]`, and the weights are turned around once. This is faster
//! than the model on the device `flex`, above all for few frames, and the result for a frame has
//! the same bits whatever is encoded with it.

use std::cell::RefCell;

use burn::{
    nn::{Linear, conv::Conv2d},
    tensor::Tensor,
};
use rl755_kernels::{Activation, Matrix, PackedConvolution, Store, multiply};
use serde::{Deserialize, Serialize};

use crate::{CpuEncoder, layers::options};

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
    /// Means, then raw spreads if there are any: `[features, latent]` or `[features, 2 · latent]`.
    head: Vec<f32>,
    /// As many as `head` has columns.
    head_bias: Vec<f32>,
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
        let head = values(Tensor::cat(heads.iter().map(|h| h.weight.val()).collect(), 1));
        let head_bias = heads.iter().flat_map(|head| bias(head.bias.as_ref(), latent)).collect();
        Self { layers, head, head_bias, latent, spread }
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
            let columns = self.head_bias.len();
            let features = self.head.len() / columns;
            let rows = input.len() / features;
            output.resize(rows * columns, 0.0);
            let head = Matrix::new(&self.head, [features, columns]);
            multiply(Matrix::new(input, [rows, features]), head, output, Store::Set);
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
