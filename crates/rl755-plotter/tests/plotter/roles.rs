//! What the processes of these tests do: this same program, with the name of a test that is none.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write, stdin, stdout},
    os::{fd::AsFd, unix::net::UnixStream},
    path::Path,
    process::{Child, Command, Stdio, exit},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, SystemTime},
};

use rl755_env::{EnvRegistry, EnvSpec, ObservationRef};
use rl755_plotter::{
    Actor, ActorError, ActorFactory, Event, Plotter, PlotterConfig, SavedPolicy, Subject,
    ViewConfig, WorkerCommand, serve_runs, worker_main,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, set_parent_process_death_signal},
};
use serde_json::{Value, json};

/// Nothing here takes longer, on a machine that does anything at all.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// How a process with that role is started.
pub(crate) fn command(role: &str) -> WorkerCommand {
    let arguments = ["--exact", role, "--nocapture"].map(String::from).to_vec();
    WorkerCommand { program: std::env::current_exe().unwrap(), arguments }
}

fn is_role(role: &str) -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    arguments.iter().any(|a| a == "--exact") && arguments.iter().any(|a| a == role)
}

/// As [`is_role`]; a process of that role ends with the test that started it.
fn is_role_of_test(role: &str) -> bool {
    is_role(role) && set_parent_process_death_signal(Some(Signal::KILL)).is_ok()
}

/// A plotter with a worker of that role, and what it tells. Its page has a port of its own.
pub(crate) fn plotter(
    role: &str,
    subject: Subject,
    change: impl FnOnce(&mut PlotterConfig),
) -> (Plotter, Receiver<Event>) {
    let (sender, events) = mpsc::channel();
    let mut config = PlotterConfig {
        worker: command(role),
        on_event: std::sync::Arc::new(move |event| {
            let _ = sender.send(event);
        }),
        ..PlotterConfig::default()
    };
    change(&mut config);
    (Plotter::start(config, subject), events)
}

/// Waits for the page's address and the worker's id, over whatever else is told.
pub(crate) fn wait_ready(events: &Receiver<Event>) -> (String, u32) {
    loop {
        if let Event::Ready { url, process } = events.recv_timeout(LIMIT).unwrap() {
            return (url, process);
        }
    }
}

/// Starts a process with that role, from which one reads and to which one writes.
pub(crate) fn started(role: &str) -> Child {
    let command = command(role);
    // What a shell starts in the background ignores interrupts, and so do the processes of its tests.
    Command::new("env")
        .arg("--default-signal")
        .arg(command.program)
        .args(command.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What comes after `beginning` in the first line of the process's output that begins so.
pub(crate) fn find_line(process: &mut Child, beginning: &str) -> String {
    let lines = BufReader::new(process.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
    let mut found = lines.filter_map(|line| Some(line.strip_prefix(beginning)?.to_owned()));
    found.next().unwrap()
}

pub(crate) fn signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process as i32).unwrap(), signal).unwrap();
}

/// Waits until the process has ended.
pub(crate) fn wait_gone(process: u32) {
    // An error says that it is gone and forgotten.
    let Ok(fd) = pidfd_open(Pid::from_raw(process as i32).unwrap(), PidfdFlags::empty()) else {
        return;
    };
    let limit = Timespec { tv_sec: LIMIT.as_secs() as i64, tv_nsec: 0 };
    let ended = poll(&mut [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)], Some(&limit));
    assert_eq!(ended, Ok(1), "process {process} goes on");
}

/// Writes what it is asked to a socket: a recurrent policy that pushes to the side that its first
/// parameter says.
struct Recorder {
    to: UnixStream,
    side: f32,
    acted: u32,
}

impl Actor for Recorder {
    fn load(&mut self, parameters: &[f32]) -> Result<(), ActorError> {
        if parameters.iter().any(|p| p.is_nan()) {
            return Err(ActorError::new("a parameter is NaN"));
        }
        self.side = parameters[0];
        writeln!(self.to, "load {} of {}", parameters[parameters.len() - 1], parameters.len())
            .map_err(ActorError::new)
    }

    fn begin(&mut self, _seed: u64) {
        writeln!(self.to, "begin after {}", std::mem::take(&mut self.acted)).unwrap();
    }

    fn act(&mut self, _: ObservationRef<'_>, action: &mut [f32]) -> Result<(), ActorError> {
        self.acted += 1;
        action.fill(self.side);
        match self.side {
            755.0 => panic!("side 755"),
            _ => Ok(()),
        }
    }
}

struct Recorders;

impl ActorFactory for Recorders {
    fn make(&self, spec: &EnvSpec, recipe: &Value) -> Result<Box<dyn Actor>, ActorError> {
        let path = recipe.as_str().ok_or_else(|| ActorError::new("no socket"))?;
        let mut to = UnixStream::connect(path).map_err(ActorError::new)?;
        writeln!(to, "make {}", spec.id).map_err(ActorError::new)?;
        Ok(Box::new(Recorder { to, side: 0.0, acted: 0 }))
    }

    /// The policy in `policy.json`: its step, its parameters, and where it is recorded.
    fn of_run(&self, run: &Path, shown: Option<u64>) -> Result<Option<SavedPolicy>, ActorError> {
        let text = fs::read_to_string(run.join("policy.json")).map_err(ActorError::new)?;
        let (step, parameters, actor): (u64, Vec<f32>, Value) =
            serde_json::from_str(&text).map_err(ActorError::new)?;
        let environment = "CartPole-v1".into();
        let subject = Subject { environment, actor, parameters: parameters.len() };
        let made = SystemTime::UNIX_EPOCH;
        Ok((shown != Some(step)).then_some(SavedPolicy { subject, step, made, parameters }))
    }
}

/// The other end of what a [`Recorder`] writes.
pub(crate) struct Recording {
    listener: std::os::unix::net::UnixListener,
    path: std::path::PathBuf,
    lines: Receiver<String>,
}

impl Recording {
    pub(crate) fn new(directory: &Path) -> Self {
        let path = directory.join("recording");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        Self { listener, path, lines: mpsc::channel().1 }
    }

    /// What is played in `environment` and recorded here.
    pub(crate) fn subject(&self, environment: &str, parameters: usize) -> Subject {
        Subject { environment: environment.into(), actor: json!(self.path), parameters }
    }

    /// Waits for the next actor to be made.
    #[track_caller]
    pub(crate) fn accept(&mut self) {
        let fd = PollFd::new(&self.listener, PollFlags::IN);
        let limit = Timespec { tv_sec: LIMIT.as_secs() as i64, tv_nsec: 0 };
        assert_eq!(poll(&mut [fd], Some(&limit)), Ok(1), "no actor was made");
        let stream = self.listener.accept().unwrap().0;
        let (sender, lines) = mpsc::channel();
        // Read even if nobody wants it, or the actor would have to wait.
        thread::spawn(move || {
            BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|l| sender.send(l))
        });
        self.lines = lines;
    }

    /// The next line of the last actor.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        self.lines.recv_timeout(LIMIT).unwrap()
    }

    /// The next line that begins so.
    #[track_caller]
    pub(crate) fn find(&mut self, beginning: &str) -> String {
        loop {
            let line = self.line();
            if line.starts_with(beginning) {
                return line;
            }
        }
    }
}

#[test]
fn player() {
    if is_role("roles::player") {
        worker_main(&EnvRegistry::with_builtin(), &Recorders);
        exit(1);
    }
}

/// Serves the runs in the directories on its input.
#[test]
fn gallery() {
    if is_role_of_test("roles::gallery") {
        let runs = stdin().lines().map(|line| line.unwrap().into()).collect();
        let view = ViewConfig { runs, speed_up: 100.0, ..ViewConfig::default() };
        let ready = |event| {
            if let Event::Ready { url, .. } = event {
                println!("\nready {url}");
            }
        };
        let Err(error) = serve_runs(&view, &EnvRegistry::with_builtin(), &Recorders, ready);
        panic!("{error}");
    }
}

/// Reads nothing and tells nothing.
#[test]
fn deaf() {
    while is_role("roles::deaf") {
        thread::park();
    }
}

/// Writes what is no report for ever.
#[test]
fn garbage() {
    while is_role("roles::garbage") {
        // An error ends the loop by a panic, as it ends many a program.
        stdout().write_all(&[b'x', 0, 255, b'{', b'\n']).unwrap();
    }
}

/// Reads a little at a time, slowly: that is its role. No test waits for it.
#[test]
fn slow() {
    let mut some = [0; 1024];
    while is_role("roles::slow") && stdin().read(&mut some).unwrap() > 0 {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Ends at once.
#[test]
fn short_lived() {
    if is_role("roles::short_lived") {
        exit(3);
    }
}

/// Closes its output and goes on.
#[test]
fn mute() {
    if is_role("roles::mute") {
        rustix::stdio::dup2_stdout(std::io::stderr()).unwrap();
        loop {
            thread::park();
        }
    }
}

/// A training that ends as it is told on its input.
#[test]
fn trainer() {
    if !is_role_of_test("roles::trainer") {
        return;
    }
    let mut lines = stdin().lines().map(Result::unwrap);
    let recording = lines.next().unwrap();
    let run_dir = lines.next().unwrap();
    let subject =
        Subject { environment: "CartPole-v1".into(), actor: json!(recording), parameters: 1 };
    let (plotter, events) = plotter("roles::player", subject, |config| {
        config.run_dir = Some(run_dir.into());
    });
    plotter.update(1, &[1.0]);
    let (url, worker) = wait_ready(&events);
    println!("\nready {worker} {url}");
    match &*lines.next().unwrap() {
        "panic" => panic!("the training fails"),
        "exit" => exit(130),
        "return" => {}
        other => unreachable!("{other}"),
    }
}

/// A training that updates a million times while its worker is stopped, and prints how much its
/// memory grew.
#[test]
fn many_updates() {
    if !is_role_of_test("roles::many_updates") {
        return;
    }
    let subject =
        Subject { environment: "CartPole-v1".into(), actor: Value::Null, parameters: 1000 };
    let (plotter, events) = plotter("roles::player", subject, |_| {});
    let (_, worker) = wait_ready(&events);
    signal(worker, Signal::STOP);
    let parameters = [0.5; 1000];
    for step in 0..1000 {
        plotter.update(step, &parameters);
    }
    let before = resident();
    for step in 1000..1_000_000 {
        plotter.update(step, &parameters);
    }
    println!("\ngrew {}", resident().saturating_sub(before));
}

/// The most memory that this process has used so far, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
