//! Whatever is sent to it, the server goes on.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use rl755_run::Random;
use serde_json::json;

use super::client::{Browser, answer, assert_serves, connect, server, status_of, step_of};
use crate::server::{Command, Moment, Server, Shown};

const CONNECTIONS: usize = 200;

fn random_bytes(random: &mut Random, most: usize) -> Vec<u8> {
    let length = 1 + random.below(most);
    (0..length).map(|_| random.below(256) as u8).collect()
}

/// A web socket after its handshake, to send bytes to.
fn handshake(server: &Server) -> TcpStream {
    Browser::open(server).socket.into_inner()
}

/// A frame as a client sends it, with the length that is said to be.
fn frame(first: u8, said_length: u64, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match said_length {
        0..126 => frame.push(0x80 | said_length as u8),
        126..0x1_0000 => {
            frame.push(0x80 | 126);
            frame.extend((said_length as u16).to_be_bytes());
        }
        _ => {
            frame.push(0x80 | 127);
            frame.extend(said_length.to_be_bytes());
        }
    }
    // A mask of zeros changes nothing.
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

#[test]
fn random_bytes_are_survived() {
    let (server, _) = server(None);
    let mut random = Random::new(1);
    for i in 0..CONNECTIONS {
        let mut bytes = random_bytes(&mut random, 3000);
        if i % 2 == 0 {
            bytes.splice(0..0, *b"GET / HTTP/1.1\r\nHost: localhost\r\n");
        }
        let mut stream = connect(&server);
        let _ = stream.write_all(&bytes);
    }
    assert_serves(&server);
}

#[test]
fn long_headers_are_refused() {
    let (server, _) = server(None);
    let long = "x".repeat(1 << 20);
    for request in [
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nA: {long}\r\n\r\n"),
        format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {long}\r\n\r\n"),
        format!("{long} / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{}Host: localhost\r\n\r\n", "A: b\r\n".repeat(100_000)),
    ] {
        // 0: it hung up while this was still sending.
        let status = status_of(&answer(&server, request.as_bytes()));
        assert!(matches!(status, 0 | 400 | 403 | 414 | 431), "{status}");
    }
    assert_serves(&server);
}

#[test]
fn half_requests_and_bodies_hold_up_nobody() {
    let (server, _) = server(None);
    let halves = [
        "",
        "G",
        "GET / HTTP/1.1\r\nHost: localho",
        "POST / HTTP/1.1\r\nHost: x\r\n\
        Content-Length: 1000000000\r\n\r\nabc",
    ];
    let held: Vec<_> = (0..60)
        .map(|i| {
            let mut stream = connect(&server);
            let _ = stream.write_all(halves[i % halves.len()].as_bytes());
            stream
        })
        .collect();
    assert_serves(&server);
    drop(held);
    assert_serves(&server);
}

#[test]
fn connections_beyond_the_limit_wait_for_their_turn() {
    let (server, _) = server(None);
    let ask = |mut stream: &TcpStream| {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    };
    let streams: Vec<_> = (0..80).map(|_| connect(&server)).collect();
    // The last ones ask while the first ones, which are served before them, say nothing.
    streams[64..].iter().for_each(ask);
    streams[..64].iter().for_each(ask);
    for mut stream in streams {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_eq!(status_of(&answer), 200);
    }
}

#[test]
fn bad_frames_end_their_own_socket_only() {
    let (server, _) = server(None);
    let run = server.add_run("run");
    run.show(&Shown::default());
    let mut good = Browser::open(&server);
    good.look_at(0);
    let mut random = Random::new(2);
    let mut cases = vec![
        frame(0x82, u64::MAX, b"abc"),
        frame(0x81, u64::from(u32::MAX), b"abc"),
        frame(0x81, 4097, &[b'a'; 4097]),
        frame(0x81, 2, &[0xff, 0xfe]),
        frame(0x83, 1, b"a"),
        frame(0xf1, 1, b"a"),
        frame(0x80, 1, b"a"),
        frame(0x89, 126, &[0; 126]),
        frame(0x88, 1, b"a"),
        b"\x81\x03abc".to_vec(),
    ];
    // In pieces, for ever.
    let mut pieces = frame(0x01, 4000, &[b'a'; 4000]);
    pieces.extend(frame(0x00, 4000, &[b'a'; 4000]).repeat(20));
    cases.push(pieces);
    for bytes in cases {
        let mut stream = handshake(&server);
        let _ = stream.write_all(&bytes);
        let mut rest = Vec::new();
        // It ends by itself, by an answer or a reset: this waits for it.
        let ended = stream.read_to_end(&mut rest);
        let waited = matches!(&ended, Err(e) if e.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!waited, "{:?} is waited for", &bytes[..bytes.len().min(20)]);
    }
    for _ in 0..CONNECTIONS {
        let _ = handshake(&server).write_all(&random_bytes(&mut random, 3000));
    }
    run.poses(Moment { step: 7, ..Moment::default() }, &[[0.0; 7]]);
    assert_eq!(step_of(&good.shown()), 7);
    assert_serves(&server);
}

#[test]
fn nonsense_is_ignored_and_numbers_are_kept_in_range() {
    let (server, asked) = server(None);
    server.add_run("run").show(&Shown::default());
    let mut browser = Browser::open(&server);
    browser.say(json!({ "pause": true }));
    browser.look_at(0);
    for nonsense in [
        "",
        "null",
        "[]",
        "{",
        "\"pause\"",
        "{\"pause\":1}",
        "{\"speed\":\"2\"}",
        "{\"speed\":null}",
        "{\"run\":-1}",
        "{\"run\":1.5}",
        "{\"run\":99999999999999999999}",
        "{\"speed\":1e999}",
        "{\"seen\":-5}",
        "{\"seen\":18446744073709551615}",
        "{\"other\":{\"pause\":true}}",
        &"[".repeat(4000),
        &"{\"run\":".repeat(500),
    ] {
        browser.socket.send(nonsense.into()).unwrap();
    }
    browser.socket.send(vec![0xff; 4000].into()).unwrap();
    browser.say(json!({ "speed": 1e300 }));
    browser.say(json!({ "speed": -3 }));
    browser.say(json!({ "speed": 2.5, "pause": false, "more": 1 }));
    // A run that is not there is none.
    browser.say(json!({ "run": 5 }));
    browser.say(json!({ "pause": true }));
    browser.look_at(0);
    drop(server);
    let asked: Vec<_> = asked.iter().collect();
    let expected = [
        Command::Viewers(1),
        Command::Speed(100.0),
        Command::Speed(0.1),
        Command::Pause(false),
        Command::Speed(2.5),
        Command::Viewers(0),
        Command::Viewers(1),
        Command::Viewers(0),
    ];
    assert_eq!(asked, expected.map(|command| (0, command)));
}
