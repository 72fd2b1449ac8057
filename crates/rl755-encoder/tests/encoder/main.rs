//! Encoders from raw rollouts to encoded ones.

#![allow(clippy::unwrap_used, reason = "test code outside of #[test] functions, too")]

mod any_size;
mod checkpoint;
mod contrastive;
mod custom;
mod encode;
mod inference;
mod losses;
mod mlp;
mod synthetic;
mod training;
