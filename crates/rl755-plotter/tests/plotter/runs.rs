//! Several runs on one page.

use std::{fs, io::Write, path::Path};

use rl755_run::{Manifest, Metrics, RunDir};
use serde_json::json;

use crate::{
    browser::Browser,
    roles::{Recording, find_line, plotter, started, wait_ready},
};

fn save_policy(run: &Path, step: u64, parameters: &[f32], recording: &Recording) {
    let policy = json!([step, parameters, recording.subject("", 0).actor]);
    // Whole or not at all, as checkpoints are.
    rl755_run::write_atomically(&run.join("policy.json"), policy.to_string().as_bytes()).unwrap();
}

fn finish(run: &Path) {
    let manifest = Manifest::begin("test", "name", 1, json!({}), Vec::new());
    RunDir::begin(run, manifest, false).unwrap().complete(Default::default()).unwrap();
}

#[test]
fn runs_that_others_train_or_trained_are_served() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    let runs = ["first", "second"].map(|name| directory.path().join(name));
    finish(&runs[0]);
    fs::create_dir(&runs[1]).unwrap();
    save_policy(&runs[0], 1, &[1.0], &recording);
    save_policy(&runs[1], 7, &[1.0, 2.0], &recording);
    Metrics::open(&runs[1], 0).unwrap().log(1, &[("of the second".into(), 3.0)]).unwrap();
    let mut gallery = started("roles::gallery");
    for run in &runs {
        writeln!(gallery.stdin.as_mut().unwrap(), "{}", run.display()).unwrap();
    }
    drop(gallery.stdin.take());
    let url = find_line(&mut gallery, "ready ");

    let mut browser = Browser::connect(&url);
    assert_eq!(browser.find("runs"), json!(["first", "second"]));
    browser.say(r#"{"run":1}"#);
    recording.accept();
    assert_eq!(recording.find("load"), "load 2 of 2");
    browser.wait_for_status(|s| s["run"] == 1 && s["snapshot"]["step"] == 7);
    while !browser.find("curves").to_string().contains("of the second") {}
    // It is trained on, and becomes larger.
    save_policy(&runs[1], 8, &[0.0, 1.0, 5.0], &recording);
    recording.accept();
    assert_eq!(recording.find("load"), "load 5 of 3");
    // The other one is not played before somebody looks at it.
    browser.say(r#"{"run":0}"#);
    recording.accept();
    assert_eq!(recording.find("load"), "load 1 of 1");
    browser.wait_for_status(|s| s["run"] == 0 && s["finished"] == true);
    gallery.kill().unwrap();
    gallery.wait().unwrap();
}

#[test]
fn other_runs_are_beside_the_one_that_is_trained() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    let (own, other) = (directory.path().join("own"), directory.path().join("other"));
    fs::create_dir(&own).unwrap();
    fs::create_dir(&other).unwrap();
    let (plotter, events) = plotter("roles::player", recording.subject("CartPole-v1", 2), |c| {
        c.run_dir = Some(own.clone());
        c.view.runs = vec![other.clone()];
    });
    plotter.update(1, &[1.0, 1.5]);
    let mut browser = Browser::connect(&wait_ready(&events).0);
    assert_eq!(browser.find("runs"), json!(["own", "other"]));
    browser.say(r#"{"run":1}"#);
    browser.wait_for_status(|s| {
        s["run"] == 1 && s["trouble"].as_str().is_some_and(|t| t.contains("No such file"))
    });
    save_policy(&other, 3, &[0.0], &recording);
    recording.accept();
    assert_eq!(recording.find("load"), "load 0 of 1");
    browser.wait_for_status(|s| s["run"] == 1 && s["trouble"].is_null());
    browser.say(r#"{"run":0}"#);
    recording.accept();
    assert_eq!(recording.find("load"), "load 1.5 of 2");
    plotter.close();
}
