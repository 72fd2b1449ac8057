//! The autoregressive transformer of the original project.

mod block;
mod cell;
mod network;

pub use cell::{TransformerCell, TransformerMemory};
pub(crate) use cell::{dense, norm};
pub use network::{Transformer, TransformerConfig};
