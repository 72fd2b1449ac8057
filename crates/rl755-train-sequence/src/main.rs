//! The train-sequence stage.

fn main() {}
