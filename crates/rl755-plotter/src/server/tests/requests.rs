//! Requests: what is served, to whom, and that the page is complete in itself.

use super::client::{answer, server, status, status_of};
use crate::server::{connection::CONTENT_SECURITY_POLICY, files::FILES};

const TOKEN: &str = "00112233445566778899aabbccddeeff";
const UPGRADE: &str = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[test]
fn each_file_is_served_whole_and_under_the_policy() {
    let (server, _) = server(None);
    for file in FILES {
        let request = format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", file.path);
        let answer = answer(&server, request.as_bytes());
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
        assert!(answer[end..] == *file.bytes, "{}", file.path);
        let headers = String::from_utf8(answer[..end].to_vec()).unwrap();
        for header in [
            format!("content-type: {}", file.media_type),
            format!("content-security-policy: {CONTENT_SECURITY_POLICY}"),
            "x-content-type-options: nosniff".into(),
            "referrer-policy: no-referrer".into(),
        ] {
            assert!(headers.contains(&format!("{header}\r\n")), "{header} in {headers}");
        }
    }
}

#[test]
fn nothing_else_is_served() {
    let (server, _) = server(None);
    let check = |path: &str, expected: &[u16]| {
        let status = status(&server, path, "localhost", "");
        assert!(expected.contains(&status), "{path}: {status}");
    };
    for path in [
        "/index.html",
        "/page.css/",
        "/PAGE.CSS",
        "/vendor",
        "/vendor/",
        "/vendor/three.entry.js",
        "/../Cargo.toml",
        "/vendor/../../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/..%2fCargo.toml",
        "//etc/passwd",
        "/etc/passwd",
        "/%00",
        "/page.css%00.js",
        "/.git/config",
    ] {
        check(path, &[404]);
    }
    for path in ["page.css", "file:///etc/passwd", "/\u{1}", "/page.css\\..\\x y"] {
        check(path, &[0, 400, 404]);
    }
    check("/page.css?anything=..%2f", &[200]);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "NONSENSE"] {
        let request = format!("{method} / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = answer(&server, request.as_bytes());
        let told = String::from_utf8_lossy(&answer);
        match status_of(&answer) {
            400 => {}
            405 => assert!(told.contains("allow: GET, HEAD\r\n"), "{method}: {told}"),
            _ => panic!("{method}: {told}"),
        }
    }
}

#[test]
fn names_of_others_are_refused_everywhere() {
    let (server, _) = server(None);
    for path in ["/", "/page.js", "/socket", "/nowhere"] {
        assert_eq!(status(&server, path, "evil.example", UPGRADE), 403, "{path}");
        let twice = "Host: evil.example\r\n";
        assert_eq!(status(&server, path, "localhost", twice), 403, "{path} with two hosts");
    }
    assert_eq!(status_of(&answer(&server, b"GET / HTTP/1.1\r\n\r\n")), 403);
}

#[test]
fn the_page_and_the_socket_need_the_token() {
    let (server, _) = server(Some(TOKEN));
    assert!(server.url().ends_with(&format!("/?token={TOKEN}")));
    let origin = format!("{UPGRADE}Origin: http://localhost\r\n");
    let check = |query: &str, page: u16, socket: u16| {
        assert_eq!(status(&server, &format!("/{query}"), "localhost", ""), page, "{query}");
        let path = format!("/socket{query}");
        // An open socket has no end: its first bytes are enough.
        if socket != 101 {
            assert_eq!(status(&server, &path, "localhost", &origin), socket, "{query}");
        }
    };
    check("", 403, 403);
    check("?token=", 403, 403);
    check(&format!("?token={}", &TOKEN[1..]), 403, 403);
    check(&format!("?Token={TOKEN}"), 403, 403);
    check(&format!("?token={TOKEN}"), 200, 101);
}

#[test]
fn only_our_page_opens_sockets() {
    let (server, _) = server(None);
    let check = |headers: &str, expected: u16| {
        assert_eq!(status(&server, "/socket", "localhost:1", headers), expected, "{headers}");
    };
    check(UPGRADE, 403);
    check(&format!("{UPGRADE}Origin: http://evil.example\r\n"), 403);
    check(&format!("{UPGRADE}Origin: null\r\n"), 403);
    check(&format!("{UPGRADE}Origin: http://localhost:2\r\n"), 403);
    let ours = "Origin: http://localhost:1\r\n";
    check(&format!("{UPGRADE}{ours}{ours}"), 403);
    check(ours, 400);
    for (part, other) in [("13", "12"), ("websocket", "h2c"), ("dGhl", ""), ("Upgrade\r", "x\r")] {
        check(&format!("{}{ours}", UPGRADE.replacen(part, other, 1)), 400);
    }
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    // Names that are never asked for.
    let namespaces = ["http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"];
    for file in FILES {
        let mut text = String::from_utf8(file.bytes.to_vec()).unwrap();
        for namespace in namespaces {
            text = text.replace(namespace, "");
        }
        for scheme in ["http://", "https://", "ws://", "wss://", "ftp://", "\"//", "'//", "(//"] {
            assert!(!text.contains(scheme), "{scheme} in {}", file.path);
        }
    }
}

#[test]
fn the_page_asks_only_for_what_is_served() {
    let text = |path: &str| {
        let file = FILES.iter().find(|file| file.path == path).unwrap();
        std::str::from_utf8(file.bytes).unwrap()
    };
    let served = |name: &str| FILES.iter().any(|file| file.path == format!("/{name}"));
    let quoted = |text: &'static str, before: &str| -> Vec<&'static str> {
        let after = text.split(before).skip(1);
        after.filter_map(|rest| rest.split(['"', '\'']).next()).collect()
    };
    let mut names = quoted(text("/"), "src=\"");
    names.extend(quoted(text("/"), "href=\""));
    for file in FILES.iter().filter(|f| f.path.ends_with(".js") && !f.path.contains("vendor")) {
        names.extend(quoted(text(file.path), "from './"));
    }
    assert!(names.len() > 10, "{names:?}");
    assert!(names.iter().all(|name| served(name)), "{names:?}");
    // The policy forbids scripts and styles in the page itself.
    for inline in ["<style", " style=", " onclick=", "javascript:"] {
        assert!(!text("/").contains(inline), "{inline}");
    }
}
