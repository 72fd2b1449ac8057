//! Encoders from raw rollouts to encoded ones.

mod custom;
mod encode;
mod inference;
mod losses;
mod synthetic;
mod training;
