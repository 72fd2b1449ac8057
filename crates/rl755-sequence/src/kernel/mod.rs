//! The arithmetic of trained models on the CPU, without tensors.
//!
//! Every result is a fixed sequence of correctly rounded operations (sums, products, quotients,
//! fused products), done for each row in the same order: its bits depend neither on the other rows
//! nor on the threads, nor on which vector instructions the processor has.

mod dense;
mod norm;

pub(crate) use dense::Dense;
pub(crate) use norm::LayerNorm;
pub(crate) use rl755_kernels::elementwise::{exp, gelu_all, sigmoid, tanh};
