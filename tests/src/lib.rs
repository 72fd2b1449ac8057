//! What the tests across crates and the programs that measure share.

pub mod parameters;
