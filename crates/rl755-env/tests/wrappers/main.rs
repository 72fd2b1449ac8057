//! Wrappers against Gymnasium's own, and against the promises of every environment.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod gymnasium;
mod pattern;
mod promises;
mod scene;

use rl755_env::{Env, EnvRegistry};

fn cartpole() -> Box<dyn Env> {
    EnvRegistry::with_builtin().make("CartPole-v1").unwrap()
}
