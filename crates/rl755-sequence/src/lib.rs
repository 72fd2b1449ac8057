//! Sequence models over latents and actions: transformer and MDN-RNN, their training, and
//! dreaming.

mod error;
mod model;

pub use error::SequenceError;
pub use model::{SequenceModel, Session};
