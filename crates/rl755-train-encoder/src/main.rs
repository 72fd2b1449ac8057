//! The train-encoder stage.

fn main() {}
