//! The collect stage.

fn main() {}
