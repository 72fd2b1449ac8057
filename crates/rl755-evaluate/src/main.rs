//! The evaluate stage.

fn main() {}
