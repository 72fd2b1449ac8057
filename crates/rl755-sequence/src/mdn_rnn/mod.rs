//! The memory of World Models: an LSTM with a mixture density output.

mod cell;
mod lstm;
mod mixture;
mod network;

pub use cell::{LstmMemory, MdnRnnCell};
pub use network::{MdnRnn, MdnRnnConfig};
