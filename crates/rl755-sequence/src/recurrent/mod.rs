//! Models whose memory is an LSTM: that of World Models, with a mixture density output, and one with
//! a single prediction.

mod cell;
mod config;
mod lstm;
mod network;
mod outcome;

pub use cell::{LstmCell, LstmMemory};
pub use config::{LstmConfig, MdnRnnConfig, RecurrentConfig, RecurrentSettings};
pub use network::{LstmNetwork, MdnRnn, RecurrentNetwork};
