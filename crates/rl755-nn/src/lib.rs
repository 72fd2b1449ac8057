//! What the model crates share: the optimiser step, its numeric checks, weights and optimiser state on disk.
