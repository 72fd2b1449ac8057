//! The pipeline as a process, with a script in place of the stages' programs.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

const PROGRAMS: [&str; 8] = [
    "collect",
    "pack",
    "verify",
    "train-encoder",
    "encode",
    "train-sequence",
    "train-controller",
    "evaluate",
];

const PRESET: &str = "
    [collect]
    num-rollouts = 3
    [train-encoder]
    train-steps = 10
    [encode]
    num-sub-shards = 2
    [baseline]
    policy = 'uniform'
";

/// A place for one pipeline.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_stage.sh");
        fs::create_dir(place.path("programs")).unwrap();
        for program in PROGRAMS {
            symlink(&script, place.path(&format!("programs/rl755-{program}"))).unwrap();
        }
        place.preset(PRESET);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn preset(&self, text: &str) {
        fs::write(self.path("test.toml"), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.current_dir(self.directory.path()).env("FAKE_LOG", self.path("log"));
        command.args(["pipeline", "--preset", "test.toml", "--programs", "programs"]);
        if !arguments.contains(&"--out") {
            command.args(["--out", "out"]);
        }
        command.args(arguments);
        command
    }

    /// Runs the pipeline, and gives the calls of the stages' programs in this run.
    fn run(&self, arguments: &[&str]) -> (Output, Vec<String>) {
        let _ = fs::remove_file(self.path("log"));
        let output = self.command(arguments).output().unwrap();
        (output, self.calls())
    }

    /// Runs the pipeline, which must succeed, and gives the names of the stages that were at work.
    fn stages(&self, arguments: &[&str]) -> Vec<String> {
        let (output, calls) = self.run(arguments);
        assert!(output.status.success(), "{output:?}");
        calls.iter().map(|call| call.split(' ').next().unwrap().to_owned()).collect()
    }

    fn calls(&self) -> Vec<String> {
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    fn summary(&self) -> serde_json::Value {
        serde_json::from_slice(&fs::read(self.path("out/summary.json")).unwrap()).unwrap()
    }
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn all_stages_run_once_and_are_skipped_when_run_again() {
    let place = Place::new();
    let stages = place.stages(&[]);
    assert_eq!(stages, [&PROGRAMS[..], &["evaluate"]].concat());
    let summary = place.summary();
    assert_eq!(summary["controller"]["mean"], 12.0);
    assert_eq!(summary["baseline"]["mean"], 2.0);
    // Each mean has the standard error 1.
    let apart = summary["standard_errors_above_baseline"].as_f64().unwrap();
    assert!((apart - 10.0 / 2.0f64.sqrt()).abs() < 1e-9, "{apart}");
    assert!(fs::read_to_string(place.path("out/summary.md")).unwrap().contains("12.0 ± 1.0"));

    assert!(place.stages(&[]).is_empty());
    assert_eq!(place.summary()["stages"][3]["outcome"], "skipped");
}

/// A small recipe for the stages' own programs.
const CART_POLE: &str = "
    [collect]
    num-rollouts = 6
    max-steps = 30
    policy = 'uniform'
    [pack]
    validation-fraction = 0.2
    [train-encoder]
    model = 'identity'
    [train-sequence]
    train-steps = 2
    sequence-length = 4
    [train-controller]
    generations = 1
    population = 2
    trials = 1
    max-steps = 10
    evaluation-episodes = 1
    [evaluate]
    episodes = 2
    video = false
    [baseline]
    policy = 'uniform'
";

#[test]
fn the_real_stages_are_skipped_when_run_again() {
    let place = Place::new();
    place.preset(CART_POLE);
    let programs = Path::new(env!("CARGO_BIN_EXE_xtask")).parent().unwrap();
    let missing = !programs.join("rl755-evaluate").exists();
    assert!(!missing, "the stages are not built; `cargo xtask test` builds them");
    let mut outcomes = Vec::new();
    for _ in 0..2 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.current_dir(place.directory.path()).arg("pipeline");
        command.args(["--env", "CartPole-v1", "--preset", "test.toml", "--out", "out"]);
        let output = command.arg("--programs").arg(programs).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let summary = place.summary();
        let stages = summary["stages"].as_array().unwrap().clone();
        outcomes.push(stages.into_iter().map(|stage| stage["outcome"].clone()).collect::<Vec<_>>());
    }
    assert_eq!(outcomes[0], vec!["done"; 9]);
    assert_eq!(outcomes[1], vec!["skipped"; 9]);
}

#[test]
fn threads_and_the_place_are_no_change() {
    let place = Place::new();
    place.stages(&[]);
    assert!(place.stages(&["--parallelism", "2"]).is_empty());
    fs::rename(place.path("out"), place.path("moved")).unwrap();
    assert!(place.stages(&["--out", "moved"]).is_empty());
}

#[test]
fn a_changed_stage_is_done_again_with_all_that_reads_it() {
    let place = Place::new();
    place.stages(&[]);
    place.preset(&PRESET.replace("train-steps = 10", "train-steps = 20"));
    assert_eq!(
        place.stages(&[]),
        ["train-encoder", "encode", "train-sequence", "train-controller", "evaluate"]
    );
    for directory in ["encoder", "encoded", "sequence", "controller", "evaluation"] {
        assert!(place.path("out").join(format!("{directory}.old-1")).is_dir(), "{directory}");
    }
    assert!(!place.path("out/baseline.old-1").exists());
    assert!(place.stages(&[]).is_empty());
}

#[test]
fn stages_are_done_again_from_the_one_that_is_named() {
    let place = Place::new();
    place.stages(&[]);
    let again = place.stages(&["--from", "train-controller"]);
    assert_eq!(again, ["train-controller", "evaluate", "evaluate"]);
    let (output, _) = place.run(&["--from", "train-control"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("did you mean `train-controller`?"), "{}", said(&output));
}

#[test]
fn what_is_missing_is_made_again() {
    let place = Place::new();
    place.stages(&[]);
    fs::remove_dir_all(place.path("out/sequence")).unwrap();
    let stages = place.stages(&[]);
    assert_eq!(stages, ["train-sequence", "train-controller", "evaluate"]);
}

#[test]
fn a_failed_stage_is_reported_and_gone_on_with() {
    let place = Place::new();
    fs::write(place.path("log.fail-train-encoder"), "").unwrap();
    let (output, calls) = place.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(calls.len(), 4);
    for text in [
        "train-encoder ended with exit code 1",
        "programs/rl755-train-encoder --environment CarRacing-v3",
        "cargo xtask pipeline --preset test.toml --out out",
    ] {
        assert!(said(&output).contains(text), "{text} is not in: {}", said(&output));
    }
    fs::remove_file(place.path("log.fail-train-encoder")).unwrap();
    let (output, calls) = place.run(&[]);
    assert!(output.status.success());
    assert!(calls[0].starts_with("train-encoder ") && calls[0].ends_with(" --resume"), "{calls:?}");
    assert!(!calls[2].contains("--resume"), "{calls:?}");
    assert_eq!(place.summary()["stages"][3]["outcome"], "resumed");
}

#[test]
fn a_signal_reaches_the_stage_and_the_next_run_goes_on() {
    let place = Place::new();
    fs::write(place.path("log.wait-train-sequence"), "").unwrap();
    let mut child = place.command(&[]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().any(|line| line.unwrap() == "waiting"));
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    let rest: Vec<String> = lines.map(|line| line.unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(rest.iter().any(|line| line.contains("stopped in train-sequence")), "{rest:?}");
    fs::remove_file(place.path("log.wait-train-sequence")).unwrap();
    let (output, calls) = place.run(&[]);
    assert!(output.status.success());
    assert!(
        calls[0].starts_with("train-sequence ") && calls[0].ends_with(" --resume"),
        "{calls:?}"
    );
}

#[test]
fn two_gpus_share_the_encoding_and_the_rest_takes_the_first() {
    let place = Place::new();
    let (output, calls) = place.run(&["--device", "cuda:1,0"]);
    assert!(output.status.success(), "{output:?}");
    let mut encode: Vec<&String> = calls.iter().filter(|call| call.starts_with("encode")).collect();
    encode.sort();
    assert_eq!(encode.len(), 2);
    assert!(encode.iter().all(|call| call.contains("--num-sub-shards 1 --num-outer-shards 2")));
    assert!(encode.iter().any(|call| call.contains("--outer-shard-index 0 --device cuda:1")));
    assert!(encode.iter().any(|call| call.contains("--outer-shard-index 1 --device cuda:0")));
    let sequence = calls.iter().find(|call| call.starts_with("train-sequence")).unwrap();
    assert!(sequence.contains("--device cuda:1"), "{sequence}");
    // Where models run is no change.
    assert!(place.stages(&[]).is_empty());
}

#[test]
fn an_unknown_environment_is_told_before_anything_is_built() {
    let place = Place::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.current_dir(place.directory.path()).args(["pipeline", "--env", "CarRacing-v2"]);
    let output = command.args(["--out", "out"]).output().unwrap();
    assert!(said(&output).contains("did you mean `CarRacing-v3`?"), "{output:?}");
    assert!(!output.status.success() && !place.path("out").exists());
}

#[test]
fn a_flag_that_a_stage_does_not_know_stops_the_pipeline_before_it_begins() {
    let place = Place::new();
    place.preset(&format!("{PRESET}\n[train-controller]\nwrong = true\n"));
    let (output, calls) = place.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("train-controller does not take its flags"), "{output:?}");
    assert!(calls.is_empty());
}

#[test]
fn a_dry_run_shows_the_commands_and_does_nothing() {
    let place = Place::new();
    let (output, calls) = place.run(&["--dry-run", "--device", "cuda:0,1"]);
    assert!(output.status.success() && calls.is_empty(), "{output:?}");
    assert_eq!(said(&output).matches("programs/rl755-encode").count(), 2, "{output:?}");
    assert!(!place.path("out").exists());
}
