//! Floating-point operations of models at their defaults, counted from the sizes of their layers.
//!
//! Only products count, two operations for each multiplication and addition; biases, activations,
//! normalisation, losses and the optimiser do not. Training takes three times the forward pass: a
//! layer's output, the gradient of its weights, and that of its input, which the first layer
//! needs not.

/// Numbers in a latent and in an action, and steps of a sequence, as `bench models` trains with.
const LATENT: u64 = 32;
const ACTION: u64 = 3;
const LENGTH: u64 = 32;

/// What a model computes for a frame, or for a step of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flops {
    /// Forward.
    pub(super) forward: u64,
    /// Of it, the first layer.
    first: u64,
}

impl Flops {
    /// Forward and backward.
    pub(super) const fn trained(self) -> u64 {
        3 * self.forward - self.first
    }
}

/// A product with a matrix of this size.
const fn matrix(rows: u64, columns: u64) -> u64 {
    2 * rows * columns
}

/// A convolution to `size`×`size` places, or a transposed one from as many.
const fn convolution(size: u64, channels: [u64; 2], kernel: u64) -> u64 {
    size * size * matrix(channels[0] * kernel * kernel, channels[1])
}

const FIRST: u64 = convolution(31, [3, 32], 4);

/// The encoder of `vae-64`, with mean and spread.
pub(super) const VAE_ENCODER: Flops = Flops {
    forward: FIRST
        + convolution(14, [32, 64], 4)
        + convolution(6, [64, 128], 4)
        + convolution(2, [128, 256], 4)
        + matrix(1024, 2 * LATENT),
    first: FIRST,
};

/// `vae-64`.
pub(super) const VAE: Flops = Flops {
    forward: VAE_ENCODER.forward
        + matrix(LATENT, 1024)
        + convolution(1, [1024, 128], 5)
        + convolution(5, [128, 64], 5)
        + convolution(13, [64, 32], 6)
        + convolution(30, [32, 3], 6),
    first: FIRST,
};

/// `transformer`: a step attends to half of the sequence on average.
pub(super) const TRANSFORMER: Flops = Flops {
    forward: matrix(LATENT + ACTION, 256)
        + 6 * (4 * matrix(256, 256) + matrix(LENGTH + 1, 256) + 2 * matrix(256, 1024))
        + matrix(256, LATENT),
    first: matrix(LATENT + ACTION, 256),
};

/// `mdn-rnn`.
pub(super) const MDN_RNN: Flops = Flops {
    forward: matrix(LATENT + ACTION + 256, 4 * 256) + matrix(256, 3 * 5 * LATENT),
    first: matrix(LATENT + ACTION, 4 * 256),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vae_s_operations_are_those_of_its_layers() {
        // 31² · 32 · 48, 14² · 64 · 512, 6² · 128 · 1024, 2² · 256 · 2048 and 1024 · 64 products.
        let products = 1_476_096 + 6_422_528 + 4_718_592 + 2_097_152 + 65_536;
        assert_eq!(VAE_ENCODER.forward, 2 * products);
        assert_eq!(VAE.trained() / 1_000_000, 229);
    }

    #[test]
    fn linear_layers_cost_two_operations_for_each_weight() {
        // The parameters less biases: 422,368 - 1,024 - 480.
        assert_eq!(MDN_RNN.forward, 2 * 420_864);
        let weights = 35 * 256 + 6 * (4 * 65_536 + 2 * 262_144) + 256 * 32;
        // Queries times keys, and weights times values, of 16.5 steps.
        assert_eq!(TRANSFORMER.forward, 2 * weights + 6 * 2 * (2 * 256) * 33 / 2);
    }
}
