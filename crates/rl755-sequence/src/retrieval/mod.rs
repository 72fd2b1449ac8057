//! A transformer that retrieves what happened earlier in the episode, before its context.

mod cell;
mod network;
mod windows;

pub use cell::{RetrievalCell, RetrievalMemory};
pub use network::{Retrieval, RetrievalConfig};
