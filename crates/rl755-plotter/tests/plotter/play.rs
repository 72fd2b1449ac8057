//! What a worker plays.

use std::time::{Duration, Instant};

use rl755_plotter::{Event, Subject};
use serde_json::Value;

use crate::{
    browser::Browser,
    roles::{LIMIT, Recording, plotter, wait_ready},
};

#[test]
fn the_last_of_many_snapshots_is_played_again_and_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    let (plotter, events) = plotter("roles::player", recording.subject("CartPole-v1", 2), |c| {
        c.view.speed_up = 100.0;
    });
    let (url, _) = wait_ready(&events);
    let _browser = Browser::open(&url);
    for step in 0..1000_u16 {
        plotter.update(step.into(), &[1.0, step.into()]);
    }
    recording.accept();
    assert_eq!(recording.line(), "make CartPole-v1");
    let mut last = -1.0;
    while last < 999.0 {
        let line = recording.find("load");
        let value: f64 = line.split(' ').nth(1).unwrap().parse().unwrap();
        assert!(value > last, "{value} after {last}");
        last = value;
    }
    // Pushed to one side the pole falls soon, each time from another state.
    for _ in 0..5 {
        assert!(recording.line().starts_with("begin"));
    }
    plotter.close();
}

#[test]
fn a_subject_and_a_snapshot_that_come_together_are_both_applied() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    // So slow that the first episode takes seconds.
    let (plotter, events) = plotter("roles::player", recording.subject("CartPole-v1", 1), |c| {
        c.view.speed_up = 0.1;
    });
    plotter.update(1, &[0.0]);
    let (url, _) = wait_ready(&events);
    let mut browser = Browser::open(&url);
    recording.accept();
    recording.find("begin");
    plotter.set_subject(recording.subject("Pendulum-v1", 2));
    plotter.update(2, &[0.5, 7.0]);
    recording.accept();
    assert_eq!(recording.line(), "make Pendulum-v1");
    assert_eq!(recording.line(), "load 7 of 2");
    browser.wait_for_status(|status| status["snapshot"]["step"] == 2);
    // Only another environment: the policy stays.
    plotter.set_subject(recording.subject("MountainCarContinuous-v0", 2));
    recording.accept();
    assert_eq!(recording.line(), "make MountainCarContinuous-v0");
    assert_eq!(recording.line(), "load 7 of 2");
    plotter.close();
}

#[test]
fn the_longest_episode_is_honoured_and_the_state_reset() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    let (plotter, events) = plotter("roles::player", recording.subject("Pendulum-v1", 1), |c| {
        c.view.speed_up = 100.0;
        c.view.max_episode_steps = Some(7);
    });
    plotter.update(1, &[0.5]);
    let _browser = Browser::open(&wait_ready(&events).0);
    recording.accept();
    assert_eq!(recording.find("begin"), "begin after 0");
    for _ in 0..3 {
        assert_eq!(recording.line(), "begin after 7");
    }
    plotter.close();
}

#[test]
fn each_state_is_shown_for_as_long_as_it_lasts_the_end_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    let (plotter, events) = plotter("roles::player", recording.subject("Pendulum-v1", 1), |c| {
        c.view.speed_up = 1.0;
        c.view.max_episode_steps = Some(1);
    });
    let _browser = Browser::open(&wait_ready(&events).0);
    let began = Instant::now();
    plotter.update(1, &[0.5]);
    recording.accept();
    for _ in 0..=15 {
        recording.find("begin");
    }
    // Gymnasium shows 30 states a second.
    assert!(began.elapsed() >= Duration::from_millis(500), "{:?}", began.elapsed());
    plotter.close();
}

#[test]
fn nothing_is_played_while_nobody_looks_or_it_is_paused() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    let (plotter, events) = plotter("roles::player", recording.subject("CartPole-v1", 1), |c| {
        c.view.speed_up = 100.0;
    });
    plotter.update(1, &[0.0]);
    let (url, _) = wait_ready(&events);
    let mut browser = Browser::open(&url);
    browser.say(r#"{"pause":true}"#);
    browser.wait_for_status(|status| status["paused"] == true);
    recording.accept();
    // What comes while it is paused is played when it is not, and only the newest of it.
    for step in 2..100_u16 {
        plotter.update(step.into(), &[step.into()]);
    }
    browser.say(r#"{"pause":false,"speed":50}"#);
    browser.wait_for_status(|status| status["speed"] == 50.0 && status["paused"] == false);
    browser.wait_for_status(|status| status["snapshot"]["step"] == 99);
    drop(browser);
    plotter.close();
}

#[test]
fn trouble_is_shown_and_told_and_over_when_its_cause_is() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    let wrong = Subject { environment: "CartPole-v9".into(), ..recording.subject("", 1) };
    let (plotter, events) = plotter("roles::player", wrong, |_| {});
    let mut browser = Browser::open(&wait_ready(&events).0);
    let mut check = |text: &str| {
        browser.wait_for_status(|s| s["trouble"].as_str().is_some_and(|t| t.contains(text)));
        match events.recv_timeout(LIMIT).unwrap() {
            Event::Trouble(told) => assert!(told.contains(text), "{told}"),
            other => panic!("{other}"),
        }
    };
    check("no environment is called `CartPole-v9`");
    plotter.set_subject(Subject { actor: Value::Null, ..recording.subject("CartPole-v1", 1) });
    check("no socket");
    plotter.set_subject(recording.subject("CartPole-v1", 1));
    plotter.update(1, &[f32::NAN]);
    check("a parameter is NaN");
    plotter.update(2, &[0.5]);
    check("element 0 is 0.5");
    plotter.update(3, &[755.0]);
    check("panicked: side 755");
    plotter.update(4, &[1.0]);
    browser.wait_for_status(|s| s["trouble"].is_null() && s["snapshot"]["step"] == 4);
    recording.accept();
    plotter.close();
}

#[test]
fn the_curves_of_the_run_and_of_what_is_played_are_shown() {
    let directory = tempfile::tempdir().unwrap();
    let recording = Recording::new(directory.path());
    let mut metrics = rl755_run::Metrics::open(directory.path(), 0).unwrap();
    metrics.log(3, &[("train/loss".into(), 0.25)]).unwrap();
    let (plotter, events) = plotter("roles::player", recording.subject("CartPole-v1", 1), |c| {
        c.run_dir = Some(directory.path().into());
        c.view.speed_up = 100.0;
    });
    plotter.update(5, &[1.0]);
    let mut browser = Browser::open(&wait_ready(&events).0);
    let (mut loss, mut returns) = (false, false);
    while !(loss && returns) {
        let curves = browser.find("curves").to_string();
        loss |= curves.contains("train/loss");
        returns |= curves.contains("episode return");
    }
    plotter.close();
}

#[test]
fn a_worker_waits_for_its_first_policy() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    let (plotter, events) = plotter("roles::player", recording.subject("CartPole-v1", 1), |_| {});
    let (url, worker) = wait_ready(&events);
    let mut browser = Browser::open(&url);
    recording.accept();
    let status = browser.find("status");
    assert!(status["snapshot"].is_null(), "{status}");
    let used = cpu_time(worker);
    // The browser waits for what does not come.
    assert!(events.recv_timeout(Duration::from_millis(300)).is_err());
    assert!(cpu_time(worker) - used <= 3, "it is busy with waiting");
    plotter.close();
}

/// Of a process, in hundredths of a second.
fn cpu_time(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
