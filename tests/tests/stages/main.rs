//! The stages as processes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
#[cfg(target_os = "linux")]
#[path = "../../../crates/rl755-plotter/tests/plotter/browser.rs"]
mod browser;
mod checkpoints;
mod collect_together;
mod disk_full;
#[cfg(unix)]
mod kill_loop;
mod killed;
mod lab;
#[cfg(feature = "tch")]
mod libtorch;
mod mujoco;
mod named_datasets;
mod original_files;
#[cfg(target_os = "linux")]
mod plot;
mod quarantine;
