//! The asynchronous plotter: a handle that never waits, a worker process that plays the newest
//! policy, and a page that shows it.
//!
//! A training holds a [`Plotter`] and gives it snapshots of its policy. The worker is a process that
//! calls [`worker_main`], usually the same program with another first argument:
//!
//! ```no_run
//! use rl755_env::EnvRegistry;
//! use rl755_plotter::{Plotter, PlotterConfig, Subject, WORKER_ARGUMENT, worker_main};
//! # fn my_actors() -> impl rl755_plotter::ActorFactory { struct A; impl rl755_plotter::ActorFactory for A {
//! #     fn make(&self, _: &rl755_env::EnvSpec, _: &serde_json::Value)
//! #     -> Result<Box<dyn rl755_plotter::Actor>, rl755_plotter::ActorError> {
//! #         Err(rl755_plotter::ActorError::new("an example acts not")) } } A }
//!
//! fn main() -> std::process::ExitCode {
//!     if std::env::args().nth(1).as_deref() == Some(WORKER_ARGUMENT) {
//!         return worker_main(&EnvRegistry::with_builtin(), &my_actors());
//!     }
//!     let mut parameters = vec![0.0; 4];
//!     let subject = Subject {
//!         environment: "CartPole-v1".into(),
//!         actor: "linear".into(), // what `my_actors` makes the actor from
//!         parameters: parameters.len(),
//!     };
//!     let plotter = Plotter::start(PlotterConfig::default(), subject);
//!     for step in 0..100 {
//!         parameters[0] += 0.1; // training
//!         plotter.update(step, &parameters);
//!     }
//!     plotter.close();
//!     std::process::ExitCode::SUCCESS
//! }
//! ```

mod actor;
mod config;
mod event;
mod frame;
mod handle;
mod log;
mod mailbox;
mod process;
mod report;
mod sender;
mod server;
mod worker;

pub use actor::{Actor, ActorError, ActorFactory, SavedPolicy};
pub use config::{PlotterConfig, Subject, ViewConfig, WORKER_ARGUMENT, WorkerCommand};
pub use event::Event;
pub use handle::Plotter;
pub use worker::{WorkerError, exit, serve_runs, worker_main};
