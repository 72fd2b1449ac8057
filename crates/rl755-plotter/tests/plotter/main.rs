//! The plotter from its handle to its page, with workers and trainers that are processes.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code, and processes that talk")]

mod browser;
mod close;
mod film;
mod play;
mod restart;
mod roles;
mod runs;
mod trainer;
mod wire;
