//! The train-controller stage.

fn main() {}
