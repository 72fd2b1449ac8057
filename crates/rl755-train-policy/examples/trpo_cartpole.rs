//! TRPO on CartPole, as rllab's example `trpo_cartpole.py`: 40 iterations of 4000 steps. Solved, 475 of
//! 500 steps over 100 episodes, in seconds.
//!
//! `cargo xtask build` builds it: `target/release/examples/trpo_cartpole`, which takes any flag of
//! rl755-train-policy, such as `--plot`, `--algorithm ppo` or `--help`.

use std::process::ExitCode;

use rl755_cli::{stage_with_defaults, stages::TrainPolicy};

fn main() -> ExitCode {
    stage_with_defaults::<TrainPolicy>(&[
        ("environment", "CartPole-v1"),
        ("algorithm", "trpo"),
        ("iterations", "40"),
        ("batch-size", "4000"),
        ("discount", "0.99"),
        // --max-kl is 0.01, as rllab's, and --damping 0.1. Its 1e-5 gets stuck: steps leave the trust
        // region in directions the batch says nothing of, and the line search finds none that is short
        // enough.
        ("model-dir", "runs/trpo_cartpole"),
    ])
}
