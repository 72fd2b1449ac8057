//! Closing, whatever the worker does.

use std::time::{Duration, Instant};

use rl755_plotter::{Event, Plotter, Subject};
use rustix::process::Signal;
use serde_json::Value;

use crate::roles::{LIMIT, command, plotter, signal, wait_gone, wait_ready};

fn subject(parameters: usize) -> Subject {
    Subject { environment: "CartPole-v1".into(), actor: Value::Null, parameters }
}

fn close_in_a_second(plotter: Plotter) {
    let began = Instant::now();
    plotter.close();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn each_worker_is_gone_within_a_second() {
    for role in ["player", "deaf", "garbage", "slow", "short_lived", "mute"] {
        // Much more than a pipe holds.
        for parameters in [1, 1_000_000] {
            let role = format!("roles::{role}");
            let (plotter, events) = plotter(&role, subject(parameters), |_| {});
            let snapshot = vec![0.5; parameters];
            let began = Instant::now();
            for step in 0..100 {
                plotter.update(step, &snapshot);
            }
            assert!(began.elapsed() < Duration::from_secs(5), "updates wait");
            let worker = (role == "roles::player").then(|| wait_ready(&events).1);
            plotter.update(100, &snapshot);
            close_in_a_second(plotter);
            worker.into_iter().for_each(wait_gone);
        }
    }
}

#[test]
fn a_stopped_worker_is_gone_within_a_second() {
    for parameters in [1, 1_000_000] {
        let (plotter, events) = plotter("roles::player", subject(parameters), |_| {});
        let (_, worker) = wait_ready(&events);
        signal(worker, Signal::STOP);
        for step in 0..10 {
            plotter.update(step, &vec![0.5; parameters]);
        }
        close_in_a_second(plotter);
        wait_gone(worker);
    }
}

#[test]
fn a_worker_gives_way_to_the_training() {
    let (plotter, events) = plotter("roles::player", subject(1), |_| {});
    let (_, worker) = wait_ready(&events);
    // Ctrl-C in a terminal goes to a process group.
    let fields = |path: String| -> Vec<String> {
        let stat = std::fs::read_to_string(path).unwrap();
        stat.rsplit(") ").next().unwrap().split(' ').map(String::from).collect()
    };
    assert_eq!(fields(format!("/proc/{worker}/stat"))[2], worker.to_string());
    let threads = std::fs::read_dir(format!("/proc/{worker}/task")).unwrap();
    for thread in threads.map(|thread| thread.unwrap().file_name().into_string().unwrap()) {
        // The first thread is not the worker's here, but that which waits for tests.
        if thread != worker.to_string() {
            assert_eq!(fields(format!("/proc/{worker}/task/{thread}/stat"))[16], "19");
        }
    }
    plotter.close();
}

#[test]
fn a_plotter_is_closed_at_once_and_while_it_waits_for_a_restart() {
    close_in_a_second(plotter("roles::player", subject(1), |_| {}).0);
    let (plotter, events) = plotter("roles::short_lived", subject(1), |_| {});
    while !matches!(events.recv_timeout(LIMIT).unwrap(),
        Event::Ended { restart_in, .. } if restart_in > Duration::from_millis(300))
    {}
    close_in_a_second(plotter);
}

#[test]
fn nothing_is_told_after_closing() {
    let (plotter, events) = plotter("roles::player", subject(1), |_| {});
    wait_ready(&events);
    plotter.close();
    // The sender is gone, and with it its end of the channel.
    assert!(events.recv_timeout(LIMIT).is_err());
}

#[test]
fn a_listener_that_does_not_return_or_panics_is_left_behind() {
    let stuck = |_: Event| loop {
        std::thread::park();
    };
    let fails = |_: Event| panic!("the listener fails");
    let listeners: [std::sync::Arc<dyn Fn(Event) + Send + Sync>; 2] =
        [std::sync::Arc::new(stuck), std::sync::Arc::new(fails)];
    for on_event in listeners {
        let config = rl755_plotter::PlotterConfig {
            worker: command("roles::short_lived"),
            on_event,
            ..Default::default()
        };
        let plotter = Plotter::start(config, subject(1));
        plotter.update(1, &[1.0]);
        close_in_a_second(plotter);
    }
}

#[test]
fn snapshots_that_do_not_fit_are_told_once() {
    let (plotter, events) = plotter("roles::player", subject(3), |_| {});
    wait_ready(&events);
    plotter.update(1, &[1.0; 4]);
    match events.recv_timeout(LIMIT).unwrap() {
        Event::Trouble(text) => {
            assert_eq!(text, "a snapshot has 4 parameters, and its policy 3: it is not shown")
        }
        other => panic!("{other}"),
    }
    plotter.update(2, &[1.0; 4]);
    plotter.close();
    assert!(events.recv_timeout(LIMIT).is_err());
}
