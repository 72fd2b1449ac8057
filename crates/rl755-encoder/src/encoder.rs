//! The [`ObservationEncoder`] trait: a trained encoder, as the later stages use it.

use std::collections::BTreeMap;

use ndarray::{Array2, ArrayView2};
use rl755_env::{ObservationBuffer, ObservationRef, Space};

use crate::EncoderError;

/// A batch of observations in the space of the latents: the encoder's full representation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Representation {
    /// The posterior mean, `[batch, latent]`: what controllers see.
    pub mean: Array2<f32>,
    /// The posterior standard deviation, `[batch, latent]`; `None` for deterministic encoders.
    pub std_dev: Option<Array2<f32>>,
    /// Anything else the encoder has to say, by name, `[batch, width]` each.
    pub extras: BTreeMap<String, Array2<f32>>,
}

/// A trained encoder. Object safe, and works on batches.
pub trait ObservationEncoder: Send + Sync {
    /// Numbers in a latent.
    fn latent_size(&self) -> usize;

    /// The names and widths of the extras that [`encode`](Self::encode) gives. Default none.
    fn extras(&self) -> BTreeMap<String, usize> {
        BTreeMap::new()
    }

    /// The space of one observation.
    fn observation_space(&self) -> &Space;

    /// Encodes a batch: `observations` holds whole observations one after another, as
    /// environments write them. The result for an observation does not depend on its batch.
    ///
    /// # Errors
    /// When `observations` is of another element type, or not a whole number of observations.
    fn encode(&self, observations: ObservationRef<'_>) -> Result<Representation, EncoderError>;

    /// Turns latents `[batch, latent]` back into observations, one after another; `None` for
    /// encoders without a decoder.
    ///
    /// # Errors
    /// When `latents` has another width.
    fn decode(
        &self,
        latents: ArrayView2<'_, f32>,
    ) -> Result<Option<ObservationBuffer>, EncoderError>;
}
