//! `cargo xtask`: the whole recipe from one command, and the project's chores.

// A program for people: its results go to stdout.
#![allow(clippy::print_stdout)]

mod bench;
mod child;
mod ci;
mod command;
mod file_size;
mod golden;
mod interop;
mod libtorch;
mod mujoco;
mod parity;
mod pipeline;
mod python;
mod setup;
mod test;
mod test_browser;
mod test_tch;
mod vendor_three;
mod workspace;

fn main() -> std::process::ExitCode {
    command::run()
}
