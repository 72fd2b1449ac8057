//! The pack stage.

fn main() {}
