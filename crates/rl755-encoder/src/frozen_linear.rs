//! Linear layers without tensors, and what the last one gives as means and standard deviations.

use burn::{nn::Linear, tensor::Tensor};
use rl755_kernels::{Matrix, Store, multiply};
use rl755_nn::values;

use crate::frozen_conv::Spread;

/// A linear layer, or several side by side.
pub(crate) struct FrozenLinear {
    /// `[from, to]`.
    pub(crate) weight: Vec<f32>,
    /// `[to]`.
    bias: Vec<f32>,
}

impl FrozenLinear {
    /// `layers` on the same input, one beside another.
    pub(crate) fn beside(layers: &[&Linear]) -> Self {
        let weights = layers.iter().map(|layer| layer.weight.val()).collect();
        let bias = |layer: &&Linear| match &layer.bias {
            Some(bias) => values(bias.val()),
            None => vec![0.0; layer.weight.dims()[1]],
        };
        Self {
            weight: values(Tensor::cat(weights, 1)),
            bias: layers.iter().flat_map(bias).collect(),
        }
    }

    /// Numbers that it gives.
    pub(crate) fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Rows of `output` from rows of `input`.
    pub(crate) fn forward(&self, input: &[f32], output: &mut Vec<f32>) {
        let to = self.outputs();
        let from = self.weight.len() / to;
        let rows = input.len() / from;
        output.resize(rows * to, 0.0);
        let weight = Matrix::new(&self.weight, [from, to]);
        multiply(Matrix::new(input, [rows, from]), weight, output, Store::Set);
        for row in output.chunks_exact_mut(to) {
            row.iter_mut().zip(&self.bias).for_each(|(value, bias)| *value += bias);
        }
    }
}

/// Splits rows of means and, where there is a `spread`, raw spreads into means and standard
/// deviations of `latent` numbers.
pub(crate) fn split(
    rows: &[f32],
    latent: usize,
    spread: Option<Spread>,
    mean: &mut [f32],
    std_dev: Option<&mut [f32]>,
) {
    let columns = latent * (1 + usize::from(spread.is_some()));
    for (to, row) in mean.chunks_exact_mut(latent).zip(rows.chunks_exact(columns)) {
        to.copy_from_slice(&row[..latent]);
    }
    let (Some(std_dev), Some(spread)) = (std_dev, spread) else { return };
    for (to, row) in std_dev.chunks_exact_mut(latent).zip(rows.chunks_exact(columns)) {
        to.iter_mut().zip(&row[latent..]).for_each(|(to, &raw)| *to = spread.std_dev(raw));
    }
}
