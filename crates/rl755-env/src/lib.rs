//! Environments with Gymnasium's semantics: the [`Env`] trait, [`Space`]s, versioned ids and
//! their factories, vectorised stepping. No tensors, no files, no display.

mod env;
mod error;
mod observation;
mod registry;
mod space;

pub use env::{Env, EnvSpec, Step};
pub use error::EnvError;
pub use observation::{ObservationBuffer, ObservationMut, ObservationRef};
pub use registry::EnvRegistry;
pub use space::{Element, Space};
