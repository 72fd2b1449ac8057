//! The encoder of [`Mlp`](crate::Mlp) without tensors, for the CPU.

use burn::{nn::Linear, tensor::Tensor};
use rl755_kernels::{Matrix, Store, multiply};

use crate::{
    CpuEncoder, Spread,
    frozen_conv::{bias, values},
    mlp::{FARTHEST, Normalization},
};

/// Linear layers with ReLU between them, and how their input is normalised.
pub(crate) struct FrozenMlp {
    normalization: Normalization,
    center: Vec<f32>,
    scale: Vec<f32>,
    layers: Vec<Layer>,
    latent: usize,
    spread: Option<Spread>,
}

struct Layer {
    /// `[from, to]`.
    weight: Vec<f32>,
    /// `[to]`.
    bias: Vec<f32>,
}

impl FrozenMlp {
    /// `hidden` layers, then `heads`: the mean and, where there is one, the spread.
    pub(crate) fn new(
        (normalization, [center, scale]): (Normalization, [Tensor<1>; 2]),
        hidden: &[Linear],
        heads: &[&Linear],
        spread: Option<Spread>,
    ) -> Self {
        let latent = heads[0].weight.dims()[1];
        let hidden = hidden.iter().map(|layer| Layer {
            weight: values(layer.weight.val()),
            bias: bias(layer.bias.as_ref(), layer.weight.dims()[1]),
        });
        let head = Layer {
            weight: values(Tensor::cat(heads.iter().map(|head| head.weight.val()).collect(), 1)),
            bias: heads.iter().flat_map(|head| bias(head.bias.as_ref(), latent)).collect(),
        };
        let layers = hidden.chain([head]).collect();
        let (center, scale) = (values(center), values(scale));
        Self { normalization, center, scale, layers, latent, spread }
    }

    fn normalize(&self, observation: &[f32]) -> Vec<f32> {
        let each = observation.iter();
        match self.normalization {
            Normalization::Standardize => each
                .zip(self.center.iter().zip(&self.scale))
                .map(|(value, (center, scale))| {
                    ((value - center) / scale).clamp(-FARTHEST, FARTHEST)
                })
                .collect(),
            Normalization::Symlog => each.map(|v| v.abs().ln_1p().copysign(*v)).collect(),
            Normalization::None => observation.to_vec(),
        }
    }
}

impl CpuEncoder for FrozenMlp {
    fn encode(&self, observations: &[f32], mean: &mut [f32], std_dev: Option<&mut [f32]>) {
        let width = self.center.len();
        let rows = observations.len() / width;
        let mut x: Vec<f32> =
            observations.chunks_exact(width).flat_map(|row| self.normalize(row)).collect();
        for (index, Layer { weight, bias }) in self.layers.iter().enumerate() {
            let (from, to) = (weight.len() / bias.len(), bias.len());
            let mut y = vec![0.0; rows * to];
            multiply(
                Matrix::new(&x, [rows, from]),
                Matrix::new(weight, [from, to]),
                &mut y,
                Store::Set,
            );
            let last = index + 1 == self.layers.len();
            for row in y.chunks_exact_mut(to) {
                for (value, bias) in row.iter_mut().zip(bias) {
                    *value += bias;
                    if !last {
                        *value = value.max(0.0);
                    }
                }
            }
            x = y;
        }
        let columns = x.len() / rows.max(1);
        for (to, row) in mean.chunks_exact_mut(self.latent).zip(x.chunks_exact(columns.max(1))) {
            to.copy_from_slice(&row[..self.latent]);
        }
        let (Some(std_dev), Some(spread)) = (std_dev, self.spread) else { return };
        for (to, row) in std_dev.chunks_exact_mut(self.latent).zip(x.chunks_exact(columns.max(1))) {
            let raw = &row[self.latent..];
            to.iter_mut().zip(raw).for_each(|(to, &raw)| *to = spread.std_dev(raw));
        }
    }

    fn is_stochastic(&self) -> bool {
        self.spread.is_some()
    }
}
