//! Trainings that end in all ways, and what they leave behind.

use std::{
    fs,
    io::Write,
    net::TcpStream,
    path::Path,
    process::{Child, ChildStdin},
};

use rustix::process::Signal;

use crate::{
    browser::Browser,
    roles::{Recording, find_line, signal, started, wait_gone},
};

struct Trainer {
    process: Child,
    stdin: ChildStdin,
    worker: u32,
    url: String,
}

impl Trainer {
    fn start(recording: &Recording, run: &Path) -> Self {
        let subject = recording.subject("", 0);
        let mut process = started("roles::trainer");
        let mut stdin = process.stdin.take().unwrap();
        writeln!(stdin, "{}\n{}", subject.actor.as_str().unwrap(), run.display()).unwrap();
        let ready = find_line(&mut process, "ready ");
        let (worker, url) = ready.split_once(' ').unwrap();
        Self { process, stdin, worker: worker.parse().unwrap(), url: url.into() }
    }
}

#[test]
fn a_training_that_ends_in_any_way_leaves_nothing_behind() {
    let check = |ending: &str, stopped: bool, played: bool| {
        let directory = tempfile::tempdir().unwrap();
        let mut recording = Recording::new(directory.path());
        let run = directory.path().join("run");
        fs::create_dir(&run).unwrap();
        let mut trainer = Trainer::start(&recording, &run);
        let browser = played.then(|| {
            let browser = Browser::open(&trainer.url);
            recording.accept();
            recording.find("begin");
            browser
        });
        if stopped {
            signal(trainer.worker, Signal::STOP);
        }
        match ending {
            "kill" => signal(trainer.process.id(), Signal::KILL),
            "interrupt" => signal(trainer.process.id(), Signal::INT),
            other => writeln!(trainer.stdin, "{other}").unwrap(),
        }
        trainer.process.wait().unwrap();
        wait_gone(trainer.worker);
        let host = trainer.url.strip_prefix("http://").unwrap().trim_end_matches('/');
        assert!(TcpStream::connect(host).is_err(), "{ending}: the port is served");
        drop(browser);
        let files: Vec<_> = fs::read_dir(&run).unwrap().collect();
        assert!(files.is_empty(), "{ending}: {files:?}");
    };
    for ending in ["kill", "interrupt", "exit", "panic", "return"] {
        for stopped in [false, true] {
            check(ending, stopped, false);
        }
        check(ending, false, true);
    }
}

#[test]
fn a_million_updates_take_no_memory() {
    let mut trainer = started("roles::many_updates");
    let grew: u64 = find_line(&mut trainer, "grew ").parse().unwrap();
    trainer.wait().unwrap();
    assert!(grew < 1024, "{grew} KiB");
}
