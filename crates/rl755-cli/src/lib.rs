//! The stages' command lines: flags, registries, progress bars and devices.
//!
//! The binaries `rl755-collect`, `rl755-train-encoder`, … are a line each over this crate. A crate
//! with environments or models of its own gets all of them as subcommands of one program:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     rl755_cli::run(|plugins| {
//!         // plugins.encoders.add::<SlotVae>();
//!         // plugins.environments.add("Maze-v0", || Ok(Box::new(Maze::new())));
//!     })
//! }
//! ```

mod actors;
mod dataset_flags;
mod device;
mod flag_values;
mod plot_flags;
mod plugins;
mod program;
mod progress_bar;
mod stage;
pub mod stages;
mod training_flags;
mod view_flags;
mod world_model;

pub use plugins::Plugins;
pub use program::run;
pub use stage::{Desk, Stage, stage, stage_with_defaults};

// The examples of the guide are tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/extending.md")]
struct ExtendingGuide;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/policies.md")]
struct PoliciesGuide;
