//! The encode stage.

fn main() {}
