//! Trainings that are watched end as others do, and leave nothing behind.

mod chaos;
mod endings;
mod watched;

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    process::Stdio,
};

use rustix::process::Signal;

use crate::{browser::Browser, lab::Lab};
use watched::{
    CONTROLLER, Watched, assert_nobody_is_left, assert_not_served, left, make_world_model, send,
    workers,
};

const POLICY: &str = "--environment CartPole-v1 --batch-size 200";

/// Waits until an episode of the run was played to its end.
fn wait_until_played(browser: &mut Browser, run: usize) {
    let status = browser.wait_for_status(|s| s["run"] == run && !s["snapshot"].is_null());
    assert!(status["trouble"].is_null(), "{status}");
    let played = |curves: &serde_json::Value| {
        curves["run"] == run && curves["names"].to_string().contains("episode return")
    };
    while !played(&browser.find("curves")) {}
}

/// What is in `films`, each of which must be a film.
fn films(lab: &Lab) -> Vec<String> {
    let films = fs::read_dir(lab.path("films")).unwrap().map(|film| film.unwrap().path());
    let checked = films.map(|film| {
        assert!(fs::read(&film).unwrap().starts_with(b"\x1a\x45\xdf\xa3"), "{film:?}");
        film.file_name().unwrap().to_str().unwrap().to_owned()
    });
    let mut films: Vec<_> = checked.collect();
    films.sort();
    films
}

#[test]
fn watched_trainings_end_with_the_same_bits_and_leave_no_process() {
    let lab = Lab::new();
    make_world_model(&lab);
    for (stage, flags) in [
        ("train-policy", format!("{POLICY} --iterations 6 --save-every-n-steps 2")),
        ("train-controller", format!("{CONTROLLER} --generations 6 --save-every-n-steps 2")),
    ] {
        let (plain, watched) = (format!("{stage}-plain"), format!("{stage}-watched"));
        lab.succeed(stage, &format!("{flags} --model-dir {plain}"));
        let flags = format!("{flags} --model-dir {watched} --plot --video {stage}.webm");
        let told = String::from_utf8(lab.succeed(stage, &flags).stderr).unwrap();
        assert_nobody_is_left(&lab);
        // So short a training may end before its film.
        let is_filmed = lab.path(&format!("{stage}.webm")).exists();
        assert_eq!(is_filmed, !told.contains("no film was finished"), "{told}");
        let expected = left(&lab, &plain);
        assert!(expected.iter().any(|(file, _)| file.ends_with(".safetensors")), "{expected:?}");
        assert_eq!(left(&lab, &watched), expected);
    }
}

#[test]
fn policies_and_controllers_are_played_and_ctrl_c_ends_it_all() {
    let lab = Lab::new();
    make_world_model(&lab);
    for (stage, flags, run) in [
        ("train-policy", format!("{POLICY} --iterations 1000000"), "policy"),
        ("train-controller", format!("{CONTROLLER} --generations 1000000"), "controller"),
    ] {
        let film = format!("films/{stage}.webm");
        let flags = format!("{flags} --video {film}");
        let mut training = Watched::start(&lab, stage, &flags, run);
        let url = training.url().unwrap();
        let mut browser = Browser::open(&url);
        wait_until_played(&mut browser, 0);
        training.until(|_| lab.path(&film).exists().then_some(())).unwrap();
        assert_eq!(workers(&lab).len(), 1);
        send(training.id(), Signal::INT);
        assert_eq!(training.wait().code(), Some(130));
        assert_nobody_is_left(&lab);
        assert_not_served(&url);
    }

    assert_eq!(films(&lab), ["train-controller.webm", "train-policy.webm"]);

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
    send(child.id(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_run_that_is_begun_anew_is_shown_again() {
    let lab = Lab::new();
    let train = |iterations: u64| {
        let flags = format!("{POLICY} --model-dir policy --iterations {iterations}");
        lab.succeed("train-policy", &flags);
    };
    train(4);
    // What is half a film is no longer needed, either.
    let half = lab.path(".film.webm.1-0.tmp");
    fs::write(&half, b"half").unwrap();
    let mut command = lab.command("plot", "policy --video film.webm");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut browser = Browser::open(line.trim().strip_prefix("the plot is at ").unwrap());
    browser.wait_for_status(|status| status["snapshot"]["step"] == 4);
    assert!(!half.exists());
    fs::remove_dir_all(lab.path("policy")).unwrap();
    train(2);
    browser.wait_for_status(|status| status["snapshot"]["step"] == 2);
    send(child.id(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_page_that_cannot_be_served_is_told_even_quietly_until_it_can() {
    let lab = Lab::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let flags = format!("{POLICY} --iterations 1000000 --quiet");
    let mut training = Watched::start_at(port, &lab, "train-policy", &flags, "run");
    let why = training.hear("plotter: the page cannot be served on 127.0.0.1:").unwrap();
    assert!(why.starts_with(&format!("{port}: ")), "{why}");
    training.hear("the plotter's worker ended with exit status: 1; it is started again").unwrap();
    training.advance().unwrap();
    let log = fs::read_to_string(training.file("plotter.log")).unwrap();
    assert!(log.starts_with("the page cannot be served"), "{log}");
    // Another training is not let in, and takes nothing away.
    let other = lab.run("train-policy", &format!("{POLICY} --model-dir run --plot"));
    assert!(!other.status.success());
    assert!(training.file("plotter.log").exists());
    drop(taken);
    assert_eq!(training.url().unwrap(), format!("http://127.0.0.1:{port}/"));
    send(training.id(), Signal::INT);
    assert_eq!(training.wait().code(), Some(130));
}

#[test]
fn mujocos_environments_are_filmed_without_a_display() {
    let lab = Lab::new();
    let probe = "--environment Swimmer-v5 --num-rollouts 1 --max-steps 1 --out-dir probe";
    if !lab.run("collect", probe).status.success() {
        // The programs were built without MuJoCo.
        return;
    }
    let flags = "--environment Swimmer-v5 --max-steps 20 --batch-size 200 --iterations 1000000 \
                 --video films/swimmer.webm";
    let mut training = Watched::start(&lab, "train-policy", flags, "policy");
    training.until(|_| lab.path("films/swimmer.webm").exists().then_some(())).unwrap();
    send(training.id(), Signal::INT);
    assert_eq!(training.wait().code(), Some(130));
    assert_eq!(films(&lab), ["swimmer.webm"]);
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
    for (flags, expected) in [
        ("--video film.mp4", "ends in .webm"),
        ("--video /proc/none/film.webm", "/proc/none/film.webm"),
        ("--window", "MuJoCo's environments only, and not CartPole-v1"),
        ("--plot-speed 5", "--plot-speed is for --plot and --window"),
    ] {
        bad(
            "train-policy",
            &format!("--model-dir new --environment CartPole-v1 {flags}"),
            expected,
        );
    }
    bad("plot", "one another --video film.webm", "of one run");
    bad("plot", "", "<DIR>");
    bad("plot", "nowhere", "nowhere");
    lab.succeed("collect", "--environment CartPole-v1 --num-rollouts 1 --out-dir rollouts");
    bad("plot", "rollouts", "rollouts");
    assert!(!lab.path("new").exists());
}
