//! The deterministic autoregressive transformer of the original project.

mod block;
mod cell;
mod network;

#[allow(unused_imports, reason = "for the models that wrap this one")]
pub(crate) use block::{gelu, linear};
pub use cell::{TransformerCell, TransformerMemory};
#[allow(unused_imports, reason = "for the models that wrap this one")]
pub(crate) use cell::{dense, norm};
pub use network::{Transformer, TransformerConfig};
