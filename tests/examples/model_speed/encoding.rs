//! Encoding frames with an untrained encoder, as the later stages do.

use burn::tensor::Device;
use rl755_encoder::{EncoderRegistry, ObservationEncoder};
use rl755_env::{ObservationRef, Space};

use crate::{Job, Outcome};

/// Encodes the same frames of 64×64 pixels again and again: bytes to means and standard deviations.
pub(crate) struct Encoding {
    encoder: Box<dyn ObservationEncoder>,
    frames: Vec<u8>,
    batch: usize,
}

impl Encoding {
    pub(crate) fn new(batch: usize) -> Outcome<Self> {
        let space = Space::Image { height: 64, width: 64, channels: 3 };
        let registry = EncoderRegistry::with_builtin();
        let config = registry.default_config("vae-64")?;
        let encoder = registry.untrained("vae-64", &config, &space, &Device::flex())?;
        let frames = (0..batch * space.width()).map(|i| (i * i % 251) as u8).collect();
        Ok(Self { encoder, frames, batch })
    }
}

impl Job for Encoding {
    fn work(&mut self) -> Outcome<u64> {
        self.encoder.encode(ObservationRef::U8(&self.frames))?;
        Ok(self.batch as u64)
    }
}
