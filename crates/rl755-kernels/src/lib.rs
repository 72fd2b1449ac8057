//! Our own kernels for the CPU, with their derivatives, as operations on burn's tensors.
//!
//! Each layer, a function from tensors to a tensor, works on every device: on `flex` by a kernel of
//! this crate, elsewhere by burn's own operations. A kernel is an [`Operation`], a forward and a
//! backward pass over plain slices; [`apply`] makes it part of burn's graph, on `flex` alone.
//! [`multiply`], [`par_multiply`], [`PackedConvolution`] and [`elementwise`] work on slices.

mod attention;
mod convolution;
pub mod elementwise;
mod gelu;
mod layer_norm;
mod linear;
mod lstm;
mod matrix_product;
mod mixture;
mod operation;
#[cfg(test)]
mod reference;
mod simd;
#[cfg(test)]
mod testing;

pub use attention::causal_attention;
pub use convolution::{Activation, ConvOptions, PackedConvolution, conv_transpose2d, conv2d};
pub use gelu::gelu;
pub use layer_norm::layer_norm;
pub use linear::linear;
pub use lstm::{LstmWeights, lstm};
pub use matrix_product::{Matrix, Store, multiply, par_multiply};
pub use mixture::mixture_negative_log_likelihood;
pub use operation::{Operation, View, apply, runs_here};
