//! The environments against their promises.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use rl755_env::check_env;
use rl755_env_mujoco::tasks;

const MADE: [&str; 1] = ["Swimmer-v5"];

#[test]
fn environments_keep_every_promise() {
    for id in MADE {
        check_env(&mut tasks::make(id).unwrap()).unwrap();
    }
    assert!(!Path::new("MUJOCO_LOG.TXT").exists());
}
