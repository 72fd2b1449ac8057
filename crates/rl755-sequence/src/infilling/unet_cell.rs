//! The trained U-Net on the CPU.

use crate::{
    infilling::unet::{Block, UNet},
    kernel::{Dense, LayerNorm, gelu_all},
    layers::{dense, norm},
};

/// The trained form of a U-Net. Sequences lie one behind the other, `[rows, length, channels]`.
#[derive(Clone, Debug)]
pub(super) struct UNetCell {
    input: Dense,
    down_blocks: Vec<CellBlock>,
    downs: Vec<Dense>,
    ups: Vec<Dense>,
    merges: Vec<Dense>,
    up_blocks: Vec<CellBlock>,
    norm: LayerNorm,
    output: Dense,
}

#[derive(Clone, Debug)]
struct CellBlock {
    norm: LayerNorm,
    first: Dense,
    second: Dense,
}

impl CellBlock {
    fn new(block: &Block) -> Self {
        Self { norm: norm(&block.norm), first: dense(&block.first), second: dense(&block.second) }
    }

    /// Adds to `x`, `[rows, length, channels]`.
    fn forward(&self, x: &mut [f32], length: usize) {
        let mut normed = vec![0.0; x.len()];
        self.norm.forward(x, &mut normed);
        let mut inner = convolve(&self.first, &normed, length);
        gelu_all(&mut inner);
        let added = convolve(&self.second, &inner, length);
        for (x, y) in x.iter_mut().zip(&added) {
            *x += y;
        }
    }
}

impl UNetCell {
    pub(super) fn new(network: &UNet) -> Self {
        let layers = |layers: &[burn::nn::Linear]| layers.iter().map(dense).collect();
        let blocks = |blocks: &[Block]| blocks.iter().map(CellBlock::new).collect();
        Self {
            input: dense(&network.input),
            down_blocks: blocks(&network.down_blocks),
            downs: layers(&network.downs),
            ups: layers(&network.ups),
            merges: layers(&network.merges),
            up_blocks: blocks(&network.up_blocks),
            norm: norm(&network.norm),
            output: dense(&network.output),
        }
    }

    /// Numbers in a step that is taken in.
    pub(super) fn input_size(&self) -> usize {
        self.input.inputs() / 3
    }

    /// Numbers in a step's features.
    pub(super) fn channels(&self) -> usize {
        self.input.outputs()
    }

    /// The features of each step, `[rows, length, channels]`, from `x`, `[rows, length, input]`.
    pub(super) fn features(&self, x: &[f32], length: usize) -> Vec<f32> {
        let mut x = convolve(&self.input, x, length);
        let mut passed = Vec::with_capacity(self.downs.len());
        let mut steps = length;
        for (block, down) in self.down_blocks.iter().zip(&self.downs) {
            block.forward(&mut x, steps);
            let below = halve(down, &x, steps);
            passed.push((std::mem::replace(&mut x, below), steps));
            steps = steps.div_ceil(2);
        }
        if let Some(block) = self.down_blocks.last() {
            block.forward(&mut x, steps);
        }
        let levels = self.ups.iter().zip(&self.merges).zip(&self.up_blocks);
        for (((up, merge), block), (level, steps)) in levels.zip(passed).rev() {
            let from_below = each_step(up, &x);
            let channels = up.outputs() / 2;
            let rows = level.len() / (steps * channels);
            let mut both = Vec::with_capacity(2 * level.len());
            for row in 0..rows {
                let below = &from_below[row * steps.div_ceil(2) * 2 * channels..];
                let level = &level[row * steps * channels..][..steps * channels];
                for (below, level) in below.chunks(channels).zip(level.chunks_exact(channels)) {
                    both.extend_from_slice(below);
                    both.extend_from_slice(level);
                }
            }
            x = each_step(merge, &both);
            block.forward(&mut x, steps);
        }
        let mut features = vec![0.0; x.len()];
        self.norm.forward(&x, &mut features);
        features
    }

    /// What the network gives for `features`, `[steps, channels]`.
    pub(super) fn output(&self, features: &[f32]) -> Vec<f32> {
        each_step(&self.output, features)
    }
}

fn each_step(layer: &Dense, x: &[f32]) -> Vec<f32> {
    let mut y = vec![0.0; x.len() / layer.inputs() * layer.outputs()];
    layer.forward(x, &mut y);
    y
}

/// A convolution of three steps: `layer` on each step between its two neighbours.
fn convolve(layer: &Dense, x: &[f32], length: usize) -> Vec<f32> {
    let channels = layer.inputs() / 3;
    let mut columns = vec![0.0; 3 * x.len()];
    let sequences = x.chunks_exact(length * channels);
    for (x, columns) in sequences.zip(columns.chunks_exact_mut(3 * length * channels)) {
        for (step, column) in columns.chunks_exact_mut(3 * channels).enumerate() {
            let (from, skipped) = if step == 0 { (0, channels) } else { (step - 1, 0) };
            let to = (step + 2).min(length);
            let neighbours = &x[from * channels..to * channels];
            column[skipped..][..neighbours.len()].copy_from_slice(neighbours);
        }
    }
    each_step(layer, &columns)
}

/// A convolution of two steps with stride 2.
fn halve(layer: &Dense, x: &[f32], length: usize) -> Vec<f32> {
    if length.is_multiple_of(2) {
        return each_step(layer, x);
    }
    let channels = layer.inputs() / 2;
    let mut even = Vec::with_capacity(x.len() / length * (length + 1));
    for x in x.chunks_exact(length * channels) {
        even.extend_from_slice(x);
        even.resize(even.len() + channels, 0.0);
    }
    each_step(layer, &even)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use rl755_nn::values;

    use super::*;
    use crate::{
        infilling::unet::UNetSizes,
        values::{random_array, tensor},
    };

    #[test]
    fn cells_give_what_networks_give_at_every_length() {
        for depth in [0, 1, 3] {
            let sizes = UNetSizes { input: 5, channels: 6, depth, output: 4 };
            let network = UNet::new(&sizes, &Device::flex());
            let cell = UNetCell::new(&network);
            for length in 1..20 {
                let x = random_array([3, length, 5], length as u64);
                let (features, output) = network.forward(tensor(&x, &Device::flex()));
                let found = cell.features(x.as_slice().unwrap(), length);
                let pairs = [(cell.output(&found), values(output)), (found, values(features))];
                for (found, expected) in pairs {
                    assert_eq!(found.len(), expected.len());
                    for (found, expected) in found.iter().zip(&expected) {
                        assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
                    }
                }
            }
        }
    }
}
