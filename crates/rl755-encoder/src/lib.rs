//! Observation encoders: the VAEs of World Models, their training, and encoding rollouts.

mod encoder;
mod error;

pub use encoder::{ObservationEncoder, Representation};
pub use error::EncoderError;
