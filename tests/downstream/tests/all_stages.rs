//! The crate's own types go through every stage.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{path::Path, process::Command};

/// Runs a stage in `directory`.
fn run(directory: &Path, stage: &str, flags: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rl755-downstream"));
    command.current_dir(directory).arg(stage).args(flags.split_whitespace());
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stage} {flags}: {errors}");
}

/// The mean score in an evaluation's results.
fn mean(directory: &Path) -> f64 {
    let text = std::fs::read(directory.join("scores.json")).unwrap();
    serde_json::from_slice::<serde_json::Value>(&text).unwrap()["mean"].as_f64().unwrap()
}

#[test]
fn an_environment_and_models_of_ones_own_go_through_all_stages() {
    let lab = tempfile::tempdir().unwrap();
    let stages = [
        (
            "collect",
            "--environment Dot-v0 --policy uniform --num-rollouts 40 --max-steps 20 \
             --out-dir rollouts",
        ),
        ("pack", "--rollout-dir rollouts --out-dir dataset"),
        ("verify", "--pattern dataset"),
        (
            "train-encoder",
            "--model linear-autoencoder --representation-size 16 --rollouts-dataset dataset \
             --model-dir encoder --train-steps 600 --batch-size 64 --obs-sampled-per-rollout 10 \
             --learning-rate 1e-2",
        ),
        ("encode", "--model encoder --rollouts-dataset dataset --out-dir encoded"),
        (
            "train-sequence",
            "--model one-step --rollouts-dataset encoded --encoder encoder --model-dir sequence \
             --train-steps 100 --sequence-length 10",
        ),
        (
            "train-controller",
            "--controller sums --encoder encoder --sequence sequence --environment Dot-v0 \
             --model-dir controller --generations 30 --population 24 --trials 8 --sigma 0.5",
        ),
        ("evaluate", "--controller controller --episodes 50 --out-dir evaluation"),
        ("evaluate", "--policy uniform --environment Dot-v0 --episodes 50 --out-dir baseline"),
    ];
    for (stage, flags) in stages {
        run(lab.path(), stage, flags);
    }
    let (controller, random) =
        (mean(&lab.path().join("evaluation")), mean(&lab.path().join("baseline")));
    // Perfect play scores about 17.
    assert!(controller > 2.0 * random, "controller {controller}, random {random}");
}
