//! Frames as tensors.

use burn::tensor::Tensor;
use rl755_env::Space;

/// `observations` of the image space `input`, `[batch, height · width · channel]`, as the tensor
/// that convolutions take: `[batch, channel, height, width]`.
///
/// # Panics
/// When `input` is no image space, or the width differs.
pub fn frames(observations: Tensor<2>, input: &Space) -> Tensor<4> {
    let Space::Image { height, width, channels } = *input else {
        panic!("{input} has no frames");
    };
    let batch = observations.dims()[0];
    observations.reshape([batch, height, width, channels]).permute([0, 3, 1, 2])
}

/// The inverse of [`frames`]: `[batch, channel, height, width]` as observations,
/// `[batch, height · width · channel]`.
pub fn flatten_frames(frames: Tensor<4>) -> Tensor<2> {
    frames.permute([0, 2, 3, 1]).flatten(1, 3)
}
