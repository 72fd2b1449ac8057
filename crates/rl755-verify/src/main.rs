//! The verify stage.

fn main() {}
