//! The encoder of [`Mlp`](crate::Mlp) without tensors, for the CPU.

use burn::{nn::Linear, tensor::Tensor};
use rl755_nn::values;

use crate::{
    CpuEncoder, Spread,
    frozen_linear::{FrozenLinear, split},
    mlp::{FARTHEST, Normalization},
};

/// Linear layers with ReLU between them, and how their input is normalised.
pub(crate) struct FrozenMlp {
    normalization: Normalization,
    center: Vec<f32>,
    scale: Vec<f32>,
    /// The last one gives means, then raw spreads if there are any.
    layers: Vec<FrozenLinear>,
    latent: usize,
    spread: Option<Spread>,
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
        let hidden = hidden.iter().map(|layer| FrozenLinear::beside(&[layer]));
        let layers = hidden.chain([FrozenLinear::beside(heads)]).collect();
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
        let each = observations.chunks_exact(self.center.len());
        let mut x: Vec<f32> = each.flat_map(|row| self.normalize(row)).collect();
        let mut y = Vec::new();
        for (index, layer) in self.layers.iter().enumerate() {
            if index > 0 {
                // Not `max`, which makes a 0 of what is no number.
                x.iter_mut().for_each(|v| *v = if *v < 0.0 { 0.0 } else { *v });
            }
            layer.forward(&x, &mut y);
            std::mem::swap(&mut x, &mut y);
        }
        split(&x, self.latent, self.spread, mean, std_dev);
    }

    fn is_stochastic(&self) -> bool {
        self.spread.is_some()
    }
}
