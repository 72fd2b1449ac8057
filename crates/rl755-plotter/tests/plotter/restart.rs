//! Workers that end, and those that come after them.

use std::{net::TcpListener, path::PathBuf};

use rl755_plotter::Event;
use rustix::process::Signal;
use serde_json::Value;

use crate::{
    browser::Browser,
    roles::{LIMIT, Recording, plotter, signal, wait_gone, wait_ready},
};

#[test]
fn the_next_worker_is_where_the_last_was_and_knows_what_it_knew() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    let (plotter, events) = plotter("roles::player", recording.subject("CartPole-v1", 3), |c| {
        // One that other tests do not take meanwhile.
        c.view.port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    });
    let (url, mut worker) = wait_ready(&events);
    plotter.update(1, &[1.0, 0.0, 4.0]);
    for kill in [Signal::KILL, Signal::ABORT, Signal::TERM] {
        signal(worker, kill);
        wait_gone(worker);
        match events.recv_timeout(LIMIT).unwrap() {
            Event::Ended { reason, .. } => {
                assert!(reason.contains(&format!("signal: {}", kill.as_raw())), "{reason}");
            }
            other => panic!("{other}"),
        }
        let (next_url, next) = wait_ready(&events);
        assert_eq!(next_url, url);
        assert_ne!(next, worker);
        worker = next;
        let _browser = Browser::open(&url);
        recording.accept();
        assert_eq!(recording.line(), "make CartPole-v1");
        assert_eq!(recording.line(), "load 4 of 3");
    }
    plotter.close();
    wait_gone(worker);
}

#[test]
fn what_came_while_there_was_no_worker_is_played_by_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(directory.path());
    let (plotter, events) = plotter("roles::player", recording.subject("CartPole-v1", 1), |_| {});
    plotter.update(1, &[1.0]);
    let (_, worker) = wait_ready(&events);
    signal(worker, Signal::STOP);
    plotter.update(2, &[2.0]);
    plotter.set_subject(recording.subject("Pendulum-v1", 2));
    plotter.update(3, &[0.0, 3.0]);
    signal(worker, Signal::KILL);
    let (url, _) = wait_ready(&events);
    let _browser = Browser::open(&url);
    recording.accept();
    assert_eq!(recording.line(), "make Pendulum-v1");
    assert_eq!(recording.line(), "load 3 of 2");
    plotter.close();
}

#[test]
fn why_a_worker_ended_is_told() {
    let check = |role: &str, expected: &str| {
        let subject = rl755_plotter::Subject {
            environment: "CartPole-v1".into(),
            actor: Value::Null,
            parameters: 1,
        };
        let (plotter, events) = plotter(role, subject, |config| {
            if role.is_empty() {
                config.worker.program = PathBuf::from("/nowhere/worker");
            }
        });
        // It is tried more than once.
        for _ in 0..2 {
            match events.recv_timeout(LIMIT).unwrap() {
                Event::Ended { reason, .. } => assert!(reason.contains(expected), "{reason}"),
                other => panic!("{other}"),
            }
            plotter.update(1, &[1.0]);
        }
        plotter.close();
    };
    check("", "cannot be started: /nowhere/worker: No such file");
    check("roles::short_lived", "exit status: 3");
    check("roles::garbage", "bytes that are no reports");
    check("roles::mute", "closed its output");
}

#[test]
fn an_address_that_cannot_be_served_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let recording = Recording::new(directory.path());
    // What the worker ends without having read is more than a pipe holds, too.
    for parameters in [1, 1_000_000] {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let subject = recording.subject("CartPole-v1", parameters);
        let (plotter, events) = plotter("roles::player", subject, |c| {
            c.view.port = taken.local_addr().unwrap().port();
        });
        plotter.update(1, &vec![0.5; parameters]);
        match events.recv_timeout(LIMIT).unwrap() {
            Event::Trouble(text) => {
                assert!(text.contains("cannot be served on 127.0.0.1"), "{text}");
            }
            other => panic!("{other}"),
        }
        assert!(matches!(events.recv_timeout(LIMIT).unwrap(), Event::Ended { .. }));
        // As soon as it can be, it is.
        drop(taken);
        wait_ready(&events);
        plotter.close();
    }
}
