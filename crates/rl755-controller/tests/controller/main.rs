//! Episodes, training and evaluation with a small environment and small models of which
//! everything is known.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod evaluation;
mod policy_training;
mod reach;
mod rollouts;
mod run_files;
mod training;
