//! What browsers are told, and how little they are sent when they are slow.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    time::{Duration, SystemTime},
};

use serde_json::json;

use super::{
    client::{Browser, assert_serves, server, step_of},
    swimmer::{swimmer, swimming},
};
use crate::server::{
    Command, Curve, Moment, ServerConfig, ServerError, Shown, Snapshot, Status, start,
};

fn at(step: u32) -> Moment {
    Moment { episode: 3, step, episode_return: 1.5 }
}

fn curve(name: &str, y: &[f64]) -> Curve {
    let x = (0..y.len()).map(|x| x as f64).collect();
    Curve { name: name.into(), x, y: y.to_vec() }
}

#[test]
fn a_browser_is_told_all_there_is() {
    let (server, _) = server(None);
    let run = server.add_run("first");
    server.add_run("second");
    run.show(&Shown { environment: "Swimmer-v5".into(), scene: Some(swimmer()), views: vec![] });
    let made = SystemTime::now() - Duration::from_secs(100);
    run.status(Status {
        snapshot: Some(Snapshot { step: 12, made }),
        speed: 5.0,
        trouble: Some("ä".repeat(1000)),
        ..Status::default()
    });
    run.curves(vec![curve("kl", &[1.0, f64::NAN])]);
    let poses = swimming(1.0);
    run.poses(at(7), &poses);

    let mut browser = Browser::open(&server);
    assert_eq!(browser.told("runs"), json!(["first", "second"]));
    let status = browser.told("status");
    assert_eq!(status["snapshot"]["step"], 12);
    assert!((100.0..200.0).contains(&status["snapshot"]["age"].as_f64().unwrap()), "{status}");
    assert_eq!(status["trouble"].as_str().unwrap().chars().count(), 500);
    assert_eq!(
        browser.told("curves"),
        json!({ "run": 0, "names": ["kl"], "parts": [
            { "curve": 0, "from": 0, "x": [0.0, 1.0], "y": [1.0, null] },
        ]})
    );
    browser.say(json!({ "run": 0 }));
    let shown = browser.told("shown");
    assert_eq!(shown["environment"], "Swimmer-v5");
    assert_eq!(shown["scene"]["geoms"][1]["shape"], "capsule");
    assert_eq!(shown["scene"]["geoms"][1]["size"], json!([0.1_f32, 0.5_f32]));
    assert_eq!(shown["scene"]["cameras"][0]["follows"], true);
    let message = browser.shown();
    assert_eq!(message[..16], [1, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0xc0, 0x3f]);
    let numbers = message[16..].chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
    assert!(numbers.eq(poses.into_iter().flatten()));
}

#[test]
fn a_new_environment_takes_the_place_of_the_one_before() {
    let (server, _) = server(None);
    let run = server.add_run("run");
    let views = vec!["environment".into(), "dream".into()];
    run.show(&Shown { views, ..Shown::default() });
    run.frame(at(1), 1, b"picture");
    // There is no such view.
    run.frame(at(1), 2, b"picture");
    let mut browser = Browser::open(&server);
    browser.look_at(0);
    let message = browser.shown();
    assert_eq!((message[0], message[1], &message[16..]), (2, 1, &b"picture"[..]));
    run.show(&Shown { environment: "other".into(), ..Shown::default() });
    assert_eq!(browser.told("shown")["environment"], "other");
    run.frame(at(2), 1, b"picture");
    run.poses(at(3), &[]);
    assert_eq!(step_of(&browser.shown()), 3);
}

#[test]
fn two_browsers_look_at_what_each_wants() {
    let (server, asked) = server(None);
    let runs = [server.add_run("a"), server.add_run("b")];
    runs.iter().for_each(|run| run.show(&Shown::default()));
    let (mut one, mut two) = (Browser::open(&server), Browser::open(&server));
    one.look_at(0);
    two.look_at(1);
    assert_eq!(runs.each_ref().map(|run| run.viewers()), [1, 1]);
    for (step, run) in (1..).zip(&runs) {
        run.poses(at(step), &[]);
    }
    assert_eq!(step_of(&one.shown()), 1);
    assert_eq!(step_of(&two.shown()), 2);
    one.look_at(1);
    assert_eq!(step_of(&one.shown()), 2);
    one.say(json!({ "pause": true }));
    let mut seen = asked.iter();
    assert!(seen.any(|asked| asked == (0, Command::Viewers(0))));
    assert!(seen.any(|asked| asked == (1, Command::Pause(true))));
    // What one of them does is told to both.
    runs[1].status(Status { paused: true, ..Status::default() });
    assert_eq!(one.told("status")["paused"], true);
    assert_eq!(two.told("status")["paused"], true);
    // A hidden page, and a closed one.
    two.say(json!({ "run": null }));
    assert_eq!(seen.next(), Some((1, Command::Viewers(1))));
    drop(one);
    assert_eq!(seen.next(), Some((1, Command::Viewers(0))));
    assert_eq!(runs[1].viewers(), 0);
}

#[test]
fn curves_come_as_what_is_new_in_them() {
    let (server, _) = server(None);
    let run = server.add_run("run");
    let mut browser = Browser::open(&server);
    let mut check = |curves: &[Curve], parts| {
        run.curves(curves.to_vec());
        assert_eq!(browser.told("curves")["parts"], parts);
    };
    let part = |curve: usize, from: usize, x: &[f64], y: &[f64]| json!({ "curve": curve, "from": from, "x": x, "y": y });
    let (a, longer) = (curve("a", &[5.0, f64::NAN]), curve("a", &[5.0, f64::NAN, 7.0]));
    check(&[a], json!([{ "curve": 0, "from": 0, "x": [0.0, 1.0], "y": [5.0, null] }]));
    check(std::slice::from_ref(&longer), json!([part(0, 2, &[2.0], &[7.0])]));
    check(std::slice::from_ref(&longer), json!([]));
    check(&[longer.clone(), curve("b", &[1.0])], json!([part(1, 0, &[0.0], &[1.0])]));
    check(&[longer, curve("b", &[])], json!([part(1, 0, &[], &[])]));
    let changed = curve("a", &[5.0, 6.0]);
    check(std::slice::from_ref(&changed), json!([part(0, 1, &[1.0], &[6.0])]));
    check(&[curve("c", &[5.0])], json!([part(0, 0, &[0.0], &[5.0])]));
    // The longer of two lengths has no points in it.
    let uneven = Curve { name: "c".into(), x: vec![0.0, 1.0, 2.0], y: vec![5.0, 6.0] };
    check(&[uneven], json!([part(0, 1, &[1.0], &[6.0])]));
}

#[test]
fn who_has_shown_nothing_yet_gets_the_newest_next() {
    let (server, _) = server(None);
    let run = server.add_run("run");
    run.show(&Shown::default());
    let mut browser = Browser::open(&server);
    browser.look_at(0);
    // It takes each, and says of none that it has shown it.
    for step in 1..=8 {
        run.poses(at(step), &[]);
        assert_eq!(step_of(&browser.shown()), step);
    }
    for step in 9..=1000 {
        run.poses(at(step), &[]);
    }
    browser.say(json!({ "seen": 8 }));
    assert_eq!(step_of(&browser.shown()), 1000);
    // It cannot have shown what it was not sent.
    browser.say(json!({ "seen": 1_000_000 }));
    for step in 1001..=1008 {
        run.poses(at(step), &[]);
        assert_eq!(step_of(&browser.shown()), step);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn who_takes_nothing_costs_no_memory() {
    const PICTURE: usize = 1 << 20;
    let memory = || {
        let statm = fs::read_to_string("/proc/self/statm").unwrap();
        4096 * statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
    };
    let (server, asked) = server(None);
    let run = server.add_run("run");
    run.show(&Shown { views: vec!["environment".into()], ..Shown::default() });
    let picture = vec![0; PICTURE];
    let mut stalled: Vec<_> = (0..4).map(|_| Browser::open(&server)).collect();
    for browser in &mut stalled {
        browser.look_at(0);
        // What it has not been sent yet, it claims to have shown.
        for _ in 0..20 {
            browser.say(json!({ "seen": u64::MAX }));
        }
    }
    assert_eq!(asked.iter().take(4).count(), 4);
    let mut good = Browser::open(&server);
    good.look_at(0);
    let before = memory();
    for step in 1..=1000 {
        run.frame(at(step), 0, &picture);
        if step % 10 == 0 {
            assert!(step_of(&good.shown()) > 0);
            good.say(json!({ "seen": step / 10 }));
        }
    }
    let grown = memory().saturating_sub(before);
    assert!(grown < 100 * PICTURE, "{} MiB", grown >> 20);
    assert_serves(&server);
}

#[test]
fn browsers_beyond_the_limit_are_refused_until_one_goes() {
    let (server, asked) = server(None);
    server.add_run("run").show(&Shown::default());
    let mut browsers: Vec<_> = (0..32).map(|_| Browser::open(&server)).collect();
    assert_eq!(Browser::try_open(&server).err(), Some(503));
    assert_serves(&server);
    for browser in &mut browsers {
        browser.look_at(0);
    }
    browsers.clear();
    assert!(asked.iter().any(|asked| asked == (0, Command::Viewers(0))));
    let mut again = Browser::open(&server);
    again.look_at(0);
}

#[test]
fn the_end_frees_the_port_and_its_sockets() {
    let (server, _) = server(None);
    let (port, run) = (server.port(), server.add_run("run"));
    let mut browser = Browser::open(&server);
    browser.told("runs");
    drop(server);
    assert!(browser.socket.read().is_err());
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    // Nobody is there to see it, and nothing happens.
    run.poses(at(1), &[]);
}

#[test]
fn a_port_that_is_taken_is_named_and_the_next_one_is_found() {
    let config = |port| ServerConfig {
        address: Ipv4Addr::LOCALHOST.into(),
        served: None,
        port,
        token: None,
    };
    let first = start(config(0), |_, _| ()).unwrap();
    let second = start(config(0), |_, _| ()).unwrap();
    assert_ne!(first.port(), second.port());
    let Err(ServerError::Bind { address, .. }) = start(config(first.port()), |_, _| ()) else {
        panic!("{} was given twice", first.port());
    };
    assert_eq!(address.port(), first.port());
    // One that was served before comes before the usual ones.
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let again = || start(ServerConfig { served: Some(free), ..config(0) }, |_, _| ()).unwrap();
    let third = again();
    assert_eq!(third.port(), free);
    assert_ne!(again().port(), free);
}

#[test]
fn addresses_that_others_reach_get_a_token() {
    for token in [None, Some(String::new())] {
        let address = Ipv4Addr::UNSPECIFIED.into();
        let config = ServerConfig { address, served: None, port: 0, token };
        let server = start(config, |_, _| ()).unwrap();
        let (_, token) = server.url().split_once("/?token=").unwrap();
        assert_eq!(token.len(), 32);
    }
}
