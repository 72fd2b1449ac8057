//! Chromium without a window, driven by the DevTools protocol over a pipe.

use std::{
    cell::RefCell,
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    rc::Rc,
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use serde_json::{Value, json};

use crate::page::{Look, Page};

/// Nothing that is waited for takes longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(90);

/// WebGL is drawn by the processor, a window that nobody sees counts as seen, and Chromium itself
/// keeps off the network.
const FLAGS: [&str; 16] = [
    "--headless",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    "--disable-backgrounding-occluded-windows",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--remote-debugging-pipe",
];

/// A process of Chromium with a profile of its own; it ends with this.
pub(crate) struct Chromium {
    // Dropped before its profile is.
    connection: Rc<RefCell<Connection>>,
    _profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts the program that the variable `CHROMIUM` names.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts it with more flags.
    pub(crate) fn start_with(flags: &[&str]) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
        // It reads commands from its descriptor 3 and writes answers to 4.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", &program]);
        command
            .args(FLAGS)
            .args(flags)
            .arg(format!("--user-data-dir={}", profile.path().display()));
        // What it keeps elsewhere than in its profile goes there as well.
        command.env("HOME", profile.path()).env("TMPDIR", profile.path());
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_CACHE_HOME");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut process = command.spawn().unwrap();
        let commands = process.stdin.take().unwrap();
        let messages = read_messages(process.stdout.take().unwrap());
        let connection =
            Connection { process, commands, messages, events: Vec::new(), last: 0, program };
        let chromium = Self { connection: Rc::new(RefCell::new(connection)), _profile: profile };
        // A word from it, so that what is wrong with it is not taken for something else.
        chromium.connection.borrow_mut().call(None, "Browser.getVersion", json!({}));
        chromium
    }

    /// Opens the page at `url` in a window that shares nothing with others.
    pub(crate) fn open(&self, url: &str, look: Look) -> Page {
        let mut connection = self.connection.borrow_mut();
        let context = connection.call(None, "Target.createBrowserContext", json!({}));
        let context = &context["browserContextId"];
        let target = json!({ "url": "about:blank", "browserContextId": context });
        let target = connection.call(None, "Target.createTarget", target);
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = connection.call(None, "Target.attachToTarget", attach);
        let session = session["sessionId"].as_str().unwrap().to_owned();
        drop(connection);
        Page::open(Rc::clone(&self.connection), session, url, look)
    }
}

/// The two ends of the pipe.
pub(crate) struct Connection {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    /// What was told and not asked for yet: the session, and what.
    events: Vec<(String, Value)>,
    last: u64,
    program: String,
}

impl Connection {
    /// Asks a session, or the browser itself, and waits for the answer.
    pub(crate) fn call(&mut self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut call = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = session {
            call["sessionId"] = session.into();
        }
        let _ = self.commands.write_all(format!("{call}\0").as_bytes());
        let until = Instant::now() + LIMIT + Duration::from_secs(10);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(mut message) = self.messages.recv_timeout(left) else {
                panic!("{} does not answer {method}", self.program);
            };
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{call}: {}", message["error"]);
                return message["result"].take();
            }
            if let Some(session) = message["sessionId"].as_str() {
                self.events.push((session.to_owned(), message));
            }
        }
    }

    /// What a session was told until now, and was not taken yet.
    pub(crate) fn take_events(&mut self, session: &str) -> Vec<Value> {
        let (taken, left) = self.events.drain(..).partition(|(of, _)| of == session);
        self.events = left;
        let taken: Vec<(String, Value)> = taken;
        taken.into_iter().map(|(_, event)| event).collect()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // All of its processes at once: none is to write into the profile while that is removed. Where
        // this never comes to run, the end of the pipe ends it.
        let group = Pid::from_raw(self.process.id() as i32);
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.process.wait();
    }
}

/// Messages end with a zero byte each.
fn read_messages(from: impl std::io::Read + Send + 'static) -> Receiver<Value> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for message in BufReader::new(from).split(0) {
            let Ok(message) = message else { break };
            if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                break;
            }
        }
    });
    receiver
}
