//! What a stage works with, whatever its config.

use burn::tensor::Device;
use rl755_run::{Interrupt, Progress};

/// Where a stage computes, reports, and looks whether to stop.
#[derive(Clone, Copy)]
pub struct StageContext<'a> {
    /// The device, without gradients. It is not part of a run's config: a run may go on elsewhere.
    pub device: &'a Device,
    /// Where the stage says how far it is.
    pub progress: &'a dyn Progress,
    /// Whether to save and stop.
    pub interrupt: &'a Interrupt,
}
