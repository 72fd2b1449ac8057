//! The crate's own types go through every stage.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(target_os = "linux")]
#[path = "../../../crates/rl755-plotter/tests/plotter/browser.rs"]
mod browser;

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
    #[cfg(target_os = "linux")]
    check_plot(lab.path());
}

/// A training that is watched plays the crate's own types, too.
#[cfg(target_os = "linux")]
fn check_plot(directory: &Path) {
    use std::{
        io::{BufRead, BufReader},
        process::Stdio,
    };

    let mut command = Command::new(env!("CARGO_BIN_EXE_rl755-downstream"));
    command.current_dir(directory).stderr(Stdio::piped()).args([
        "train-controller",
        "--controller=sums",
        "--encoder=encoder",
        "--sequence=sequence",
        "--environment=Dot-v0",
        "--model-dir=watched",
        "--generations=1000000",
        "--plot",
        "--plot-speed=100",
    ]);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = loop {
        let line = lines.next().expect("the training ended").unwrap();
        if let Some(url) = line.strip_prefix("the plot is at ") {
            break url.to_owned();
        }
    };
    std::thread::spawn(move || lines.for_each(drop));
    let mut browser = browser::Browser::open(&url);
    let shown = browser.find("shown");
    assert_eq!(shown["views"], serde_json::json!(["observation", "reconstruction", "dream"]));
    let status = browser.wait_for_status(|status| !status["snapshot"].is_null());
    assert!(status["trouble"].is_null(), "{status}");
    child.kill().unwrap();
    child.wait().unwrap();
}
