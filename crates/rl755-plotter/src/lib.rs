//! The asynchronous plotter: a handle that never waits, a worker process that plays the newest
//! policy, and a page that shows it.

mod server;
mod worker;
