//! Models whose memory is an LSTM: that of World Models, with a mixture density output, and one with
//! a single prediction.

mod cell;
mod lstm;
mod lstm_network;
mod mdn_rnn;
mod outcome;

pub use cell::{LstmCell, LstmMemory};
pub use lstm_network::{LstmConfig, LstmNetwork};
pub use mdn_rnn::{MdnRnn, MdnRnnConfig};
