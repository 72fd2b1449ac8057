//! The autoregressive transformer of the original project.

mod block;
mod cell;
mod network;

pub use cell::{TransformerCell, TransformerMemory};
pub use network::{Transformer, TransformerConfig};
