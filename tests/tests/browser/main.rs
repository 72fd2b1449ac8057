//! The plotter's page in Chromium, of trainings as they run. `cargo xtask test-browser` runs this; the
//! default run of the tests does not.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bodies;
mod chromium;
mod curves;
#[allow(dead_code, reason = "the stages' tests need more of it")]
#[path = "../stages/lab.rs"]
mod lab;
mod layout;
mod page;
mod picture;
mod pictures;
mod runs;
mod screenshots;
mod several;
mod training;
