//! The autoregressive transformer of the original project.

mod block;
mod cell;
mod network;

pub(crate) use cell::dense;
#[allow(unused_imports, reason = "for the models that wrap this one")]
pub(crate) use cell::norm;
pub use cell::{TransformerCell, TransformerMemory};
pub use network::{Transformer, TransformerConfig};
