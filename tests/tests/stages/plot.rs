//! Trainings that are watched end as others do, and leave nothing behind.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};

use rl755_run::Digest;

use crate::{browser::Browser, lab::Lab};

/// A world model of CartPole, small enough for a test.
const WORLD_MODEL: [(&str, &str); 5] = [
    (
        "collect",
        "--environment CartPole-v1 --policy uniform --num-rollouts 8 --max-steps 40 \
         --out-dir rollouts",
    ),
    ("pack", "--rollout-dir rollouts --out-dir dataset --validation-fraction 0.25"),
    (
        "train-encoder",
        "--model mlp --rollouts-dataset dataset --model-dir encoder --train-steps 4 \
         --batch-size 4 --representation-size 3 --obs-sampled-per-rollout 5",
    ),
    ("encode", "--model encoder --rollouts-dataset dataset --out-dir encoded"),
    (
        "train-sequence",
        "--model lstm --rollouts-dataset encoded --encoder encoder --model-dir sequence \
         --train-steps 4 --batch-size 2 --sequence-length 6",
    ),
];
const POLICY: &str = "--environment CartPole-v1 --batch-size 200";
const CONTROLLER: &str = "--encoder encoder --sequence sequence --environment CartPole-v1 \
    --population 4 --trials 2 --max-steps 30 --evaluate-every 2 --evaluation-episodes 2";

/// The workers of plotters that were started in the lab.
fn workers(lab: &Lab) -> Vec<String> {
    let directory = lab.path("").canonicalize().unwrap();
    let is_worker = |process: &Path| {
        let command = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
        let within = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == directory);
        within && command.contains("plot-worker")
    };
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    processes.filter(|p| is_worker(p)).map(|p| p.display().to_string()).collect()
}

/// What a training left in its directory, whatever that is called.
fn left(lab: &Lab, directory: &str) -> Vec<(String, Digest)> {
    let relative = |path: &Path| path.strip_prefix(directory).unwrap().display().to_string();
    lab.contents(directory).iter().map(|(path, digest)| (relative(path), digest.clone())).collect()
}

/// Starts a training that is watched, and waits until it says where.
fn start_watched(lab: &Lab, stage: &str, flags: &str) -> (Child, String) {
    let mut command = lab.command(stage, &format!("{flags} --plot --plot-speed 100"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = loop {
        let line = lines.next().expect("the training ended").unwrap();
        if let Some(url) = line.strip_prefix("the plot is at ") {
            break url.to_owned();
        }
    };
    // It must not be kept waiting by who reads no further.
    std::thread::spawn(move || lines.for_each(drop));
    (child, url)
}

/// Waits until an episode of the run was played to its end.
fn wait_until_played(browser: &mut Browser, run: usize) {
    let status = browser.wait_for_status(|s| s["run"] == run && !s["snapshot"].is_null());
    assert!(status["trouble"].is_null(), "{status}");
    let played = |curves: &serde_json::Value| {
        curves["run"] == run && curves["names"].to_string().contains("episode return")
    };
    while !played(&browser.find("curves")) {}
}

fn interrupt(child: &mut Child) -> Option<i32> {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    child.wait().unwrap().code()
}

#[test]
fn watched_trainings_end_with_the_same_bits_and_leave_no_process() {
    let lab = Lab::new();
    for (stage, flags) in WORLD_MODEL {
        lab.succeed(stage, flags);
    }
    for (stage, flags) in [
        ("train-policy", format!("{POLICY} --iterations 6 --save-every-n-steps 2")),
        ("train-controller", format!("{CONTROLLER} --generations 6 --save-every-n-steps 2")),
    ] {
        let (plain, watched) = (format!("{stage}-plain"), format!("{stage}-watched"));
        lab.succeed(stage, &format!("{flags} --model-dir {plain}"));
        lab.succeed(stage, &format!("{flags} --model-dir {watched} --plot"));
        assert_eq!(workers(&lab), Vec::<String>::new());
        let expected = left(&lab, &plain);
        assert!(expected.iter().any(|(file, _)| file.ends_with(".safetensors")), "{expected:?}");
        assert_eq!(left(&lab, &watched), expected);
    }
}

#[test]
fn policies_and_controllers_are_played_and_ctrl_c_ends_it_all() {
    let lab = Lab::new();
    for (stage, flags) in WORLD_MODEL {
        lab.succeed(stage, flags);
    }
    for (stage, flags) in [
        ("train-policy", format!("{POLICY} --iterations 1000000 --model-dir policy")),
        ("train-controller", format!("{CONTROLLER} --generations 1000000 --model-dir controller")),
    ] {
        let (mut child, url) = start_watched(&lab, stage, &flags);
        let mut browser = Browser::open(&url);
        wait_until_played(&mut browser, 0);
        assert_eq!(workers(&lab).len(), 1);
        assert_eq!(interrupt(&mut child), Some(130));
        assert_eq!(workers(&lab), Vec::<String>::new());
        let host = url.trim_start_matches("http://").trim_end_matches('/');
        assert!(TcpStream::connect(host).is_err());
    }

    // Both on one page, as others see them.
    let mut command = lab.command("plot", "policy controller --speed 100");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("the plot is at ").unwrap();
    let mut browser = Browser::connect(url);
    assert_eq!(browser.find("runs"), serde_json::json!(["policy", "controller"]));
    for run in 0..2 {
        browser.say(&format!(r#"{{"run":{run}}}"#));
        wait_until_played(&mut browser, run);
    }
    assert_eq!(interrupt(&mut child), Some(130));
}

#[test]
fn flags_of_the_plotter_are_checked() {
    let lab = Lab::new();
    let bad = |stage: &str, flags: &str, expected: &str| {
        let result = lab.run(stage, flags);
        let errors = String::from_utf8_lossy(&result.stderr);
        assert!(!result.status.success(), "{stage} {flags} succeeded");
        assert!(errors.contains(expected), "{stage} {flags}: expected `{expected}` in:\n{errors}");
    };
    for (flags, expected) in [
        ("--plot-port 7000", "--plot"),
        ("--plot --plot-port 0", "from 1 to 65535"),
        ("--plot --plot-port 65536", "from 1 to 65535"),
        ("--plot --plot-address here", "--plot-address"),
        ("--plot --plot-speed 0", "from 0.1 to 100"),
        ("--plot --plot-speed NaN", "from 0.1 to 100"),
        ("--plot --plot-token a&b=cdefgh", "8 to 128 letters"),
    ] {
        bad("train-policy", &format!("--model-dir new {flags}"), expected);
        bad("train-controller", &format!("--encoder e --model-dir new {flags}"), expected);
    }
    bad("train-policy", "--model-dir new --plot --environment CartPol-v1", "did you mean");
    bad("plot", "", "<DIR>");
    bad("plot", "nowhere", "nowhere");
    lab.succeed("collect", "--environment CartPole-v1 --num-rollouts 1 --out-dir rollouts");
    bad("plot", "rollouts", "rollouts");
    assert!(!lab.path("new").exists());
}
