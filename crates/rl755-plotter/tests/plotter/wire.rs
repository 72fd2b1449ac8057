//! Workers that are told nonsense, or nothing.

use std::{
    io::Write,
    process::{Command, ExitStatus, Stdio},
};

use crate::roles::command;

/// How a worker ends that is told `bytes` and no more.
fn told(bytes: &[u8]) -> (ExitStatus, String) {
    let command = command("roles::player");
    let mut worker = Command::new(command.program)
        .args(command.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may be gone before all is written.
    let _ = worker.stdin.take().unwrap().write_all(bytes);
    let output = worker.wait_with_output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_worker_that_is_told_nothing_ends() {
    assert!(told(b"").0.success());
}

#[test]
fn a_worker_that_is_told_nonsense_says_so_and_ends() {
    let mut random = rl755_run::Random::new(3);
    let nonsense: [Vec<u8>; 5] = [
        b"GET / HTTP/1.1\r\n\r\n".into(),
        vec![0; 100_000],
        vec![255; 100_000],
        vec![2, 0, 0, 0, 1, b'{', b'}'],
        (0..100_000).map(|_| random.bits() as u8).collect(),
    ];
    for bytes in nonsense {
        let (status, error) = told(&bytes);
        assert!(!status.success());
        assert!(error.contains("what the plotter's worker is told makes no sense"), "{error}");
    }
}

#[test]
fn a_worker_of_another_parent_ends() {
    let settings = r#"{"parent":1,"run_dir":null,"view":{}}"#;
    let mut bytes = (settings.len() as u32).to_le_bytes().to_vec();
    bytes.push(1);
    bytes.extend(settings.as_bytes());
    assert!(told(&bytes).0.success());
}
