//! MuJoCo's viewer beside the plotter's worker, in a process of its own: an X server that goes away ends
//! the process that has windows there, and a window that is closed stays on the screen as long as
//! its process does.
//!
//! The process is this same program. States come to its standard input, each as a `u32` and as many
//! `f64`, little-endian; the input's end closes the window.

use std::{
    io::{self, Read, Write},
    process::{Command, ExitCode, Stdio},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

use rl755_plotter::{WORKER_ARGUMENT, WorkerCommand};

/// More states than are drawn at once; when the window stands still, no more are kept.
const WAITING: usize = 64;

/// Shows `states` of `environment` until the window is closed or there come no more.
pub(super) fn show(environment: &str, states: &Receiver<Vec<f64>>) -> io::Result<()> {
    let mut window = Command::new(WorkerCommand::default().program)
        .args([WORKER_ARGUMENT, environment])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut to) = window.stdin.take() {
        for state in states {
            let mut frame = (state.len() as u32).to_le_bytes().to_vec();
            frame.extend(state.iter().flat_map(|value| value.to_le_bytes()));
            if to.write_all(&frame).is_err() {
                // It was closed, or says below why there is none.
                break;
            }
        }
    }
    let end = window.wait_with_output()?;
    if end.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&end.stdout);
    let why =
        told.lines().last().map_or_else(|| format!("it ended with {}", end.status), str::to_owned);
    Err(io::Error::other(why))
}

/// The `main` of the process with the window.
pub(crate) fn main(environment: &str) -> ExitCode {
    let (sender, states) = sync_channel(WAITING);
    // An error is the end of the input.
    thread::spawn(move || read_states(&mut io::stdin().lock(), &sender));
    let Err(error) = rl755_env_mujoco::run_window(environment, &states) else {
        return ExitCode::SUCCESS;
    };
    // Whoever does not read it has ended.
    let _ = writeln!(io::stdout(), "{error}");
    ExitCode::FAILURE
}

fn read_states(from: &mut impl Read, to: &SyncSender<Vec<f64>>) -> io::Result<()> {
    loop {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let mut bytes = Vec::new();
        let expected = 8 * u64::from(u32::from_le_bytes(length));
        if from.take(expected).read_to_end(&mut bytes)? as u64 != expected {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (values, _) = bytes.as_chunks();
        // The next one comes soon.
        let _ = to.try_send(values.iter().copied().map(f64::from_le_bytes).collect());
    }
}
