//! The plotter from its handle to its page, with workers and trainers that are processes.

mod browser;
mod close;
mod play;
mod restart;
mod roles;
mod runs;
mod trainer;
mod wire;
