//! TRPO on MuJoCo's Swimmer, after rllab's example `trpo_swimmer.py`.
//!
//! `cargo xtask setup --mujoco` once, then `cargo xtask build` builds it:
//! `target/release/examples/trpo_swimmer`, which takes any flag of rl755-train-policy, such as `--plot`
//! or `--help`. A mean return of 350 in seconds.

use std::process::ExitCode;

use rl755_cli::{stage_with_defaults, stages::TrainPolicy};

fn main() -> ExitCode {
    stage_with_defaults::<TrainPolicy>(&[
        ("environment", "Swimmer-v5"),
        ("algorithm", "trpo"),
        // rllab has 40 iterations of 4000 steps, episodes of 500 steps and a discount of 0.99. A stroke
        // takes long to pay: with 0.99 the mean return stays at 40 after 500,000 steps.
        ("iterations", "60"),
        ("batch-size", "5000"),
        ("discount", "0.999"),
        ("model-dir", "runs/trpo_swimmer"),
    ])
}
