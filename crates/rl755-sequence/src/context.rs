//! What a stage works with, whatever its config.

use burn::tensor::Device;
use ndarray::{Array4, ArrayView2};
use rl755_run::{Interrupt, Progress};

/// Turns latents `[n, latent]` into frames `[n, height, width, channel]`, where that is possible.
pub type DecodeLatents<'a> = dyn Fn(ArrayView2<'_, f32>) -> Option<Array4<u8>> + 'a;

/// Where a stage computes, reports, and looks whether to stop.
#[derive(Clone, Copy)]
pub struct StageContext<'a> {
    /// The device, without gradients. It is not part of a run's config: a run may go on elsewhere.
    pub device: &'a Device,
    /// Where the stage says how far it is.
    pub progress: &'a dyn Progress,
    /// Whether to save and stop.
    pub interrupt: &'a Interrupt,
    /// Shows latents as frames in the pictures of dreams, where the encoder is at hand.
    pub decode: Option<&'a DecodeLatents<'a>>,
}
