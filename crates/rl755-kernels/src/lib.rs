//! Our own kernels for the CPU, with their derivatives, as operations on burn's tensors.
//!
//! Each public function works on every device: on `flex` by a kernel of this crate, elsewhere by
//! burn's own operations. A kernel is an [`Operation`], a forward and a backward pass over plain
//! slices; [`apply`] makes it part of burn's graph.

mod operation;

pub use operation::{Operation, View, apply, runs_here};
