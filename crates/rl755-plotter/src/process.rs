//! The worker's process: started, killed from any thread, and always waited for.

use std::{
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::WorkerCommand;

/// How often it is looked whether a process that closed its output is gone.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The process, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Process(Mutex<Option<Child>>);

/// The ends of the pipes to a process that was started, and its id.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    /// Nothing where it was not asked for.
    pub(crate) stderr: Option<ChildStderr>,
    pub(crate) id: u32,
}

impl Process {
    /// Starts it, in a process group of its own so that Ctrl-C in a terminal reaches the trainer
    /// only. It must be started from a thread that outlives it: a worker asks to be killed when the
    /// thread that started it ends.
    pub(crate) fn start(&self, command: &WorkerCommand, stderr: bool) -> io::Result<Pipes> {
        let mut prepared = Command::new(&command.program);
        if command.program == Path::new("/proc/self/exe")
            && let Some(name) = std::env::args_os().next()
        {
            prepared.arg0(name);
        }
        let mut child = prepared
            .args(&command.arguments)
            .env("RAYON_NUM_THREADS", "1")
            // Mesa, where it draws without a graphics card.
            .env("LP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(if stderr { Stdio::piped() } else { Stdio::null() })
            .process_group(0)
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stderr, id) = (child.stderr.take(), child.id());
        *self.lock() = Some(child);
        match (stdin, stdout) {
            (Some(stdin), Some(stdout)) => Ok(Pipes { stdin, stdout, stderr, id }),
            _ => Err(io::Error::other("its pipes are missing")),
        }
    }

    /// Kills it with what it started. This works on stopped processes, too, and lets go whoever is
    /// writing to it.
    pub(crate) fn kill(&self) {
        if let Some(child) = &*self.lock() {
            kill_group(child);
        }
    }

    /// Waits until it is gone; after `grace` it is killed. How it ended, unless it was killed here.
    pub(crate) fn reap(&self, grace: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + grace;
        let mut gone = self.is_gone();
        while !gone && Instant::now() < deadline {
            // The standard library has no wait with a deadline, and SIGCHLD is the program's.
            std::thread::sleep(LOOK_AGAIN);
            gone = self.is_gone();
        }
        // Out of the lock, so that `kill` waits for nothing. It is not reaped yet: its id, and that
        // of its group, are still its own.
        let mut child = self.lock().take()?;
        kill_group(&child);
        child.wait().ok().filter(|_| gone)
    }

    /// Whether it ended, or there is none; it stays to be waited for.
    fn is_gone(&self) -> bool {
        let child = self.lock();
        let Some(child) = &*child else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(None))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Child>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kill_group(child: &Child) {
    // An error says that there is nobody left.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}
