//! Training, loading and dreaming, over small datasets of known dynamics.

#![allow(clippy::unwrap_used, reason = "test code outside of #[test] functions, too")]

mod dreaming;
mod parity;
mod registry;
mod synthetic;
mod training;
