//! `plotter.log`: what the workers of a training write to their standard error.
//!
//! It comes through the trainer rather than straight from the worker, so that there is a log only
//! where something is written, it does not fill a disk, and a full disk is no trouble of the worker's.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// No log is longer.
const MOST_BYTES: usize = 1 << 20;
/// So much is kept until the run's directory is there.
const MOST_WAITING: usize = 1 << 16;

/// The log of a run.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<File>,
    /// What is not written yet.
    waiting: Vec<u8>,
    /// How much was.
    written: usize,
}

impl Log {
    /// The log of the run in that directory, which need not be there yet.
    pub(crate) fn new(run: &Path) -> Self {
        Self { path: run.join("plotter.log"), state: Mutex::default() }
    }

    /// Removes the log of an earlier training, where this one has written none.
    pub(crate) fn forget_earlier(&self) {
        if self.lock().file.is_none() {
            // Mostly there is none.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Takes all that comes `from` a worker.
    pub(crate) fn take_all(&self, mut from: impl Read) {
        let mut some = [0; 4096];
        loop {
            match from.read(&mut some) {
                Ok(0) | Err(_) => break,
                // All is read, whatever becomes of it: a worker must not wait.
                Ok(length) => self.write(&some[..length]),
            }
        }
        // The directory may have come since.
        self.write(&[]);
    }

    fn write(&self, bytes: &[u8]) {
        let mut state = self.lock();
        let State { file, waiting, written } = &mut *state;
        let room = (MOST_BYTES - *written).min(MOST_WAITING).saturating_sub(waiting.len());
        waiting.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if waiting.is_empty() {
            return;
        }
        if file.is_none() {
            *file = File::create(&self.path).ok();
        }
        if let Some(file) = file {
            // Where there is no room, the training goes on without.
            let _ = file.write_all(waiting);
            *written += waiting.len();
            waiting.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_comes_before_the_directory_is_there_is_kept_and_no_log_is_made_of_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let run = parent.path().join("run");
        let log = Log::new(&run);
        log.take_all(&b"early\n"[..]);
        fs::create_dir(&run).unwrap();
        log.take_all(&b""[..]);
        log.take_all(&b"late\n"[..]);
        let written = || fs::read_to_string(run.join("plotter.log")).unwrap();
        log.forget_earlier();
        assert_eq!(written(), "early\nlate\n");
        let log = Log::new(&run);
        log.take_all(&b""[..]);
        assert_eq!(written(), "early\nlate\n");
        log.forget_earlier();
        assert!(!run.join("plotter.log").exists());
    }

    #[test]
    fn a_log_is_bounded_wherever_it_goes() {
        let run = tempfile::tempdir().unwrap();
        let log = Log::new(run.path());
        log.take_all(io::repeat(b'x').take(3 << 20));
        let length = fs::metadata(run.path().join("plotter.log")).unwrap().len();
        assert_eq!(length, MOST_BYTES as u64);
        let log = Log::new(&run.path().join("nowhere"));
        log.take_all(io::repeat(b'x').take(3 << 20));
        assert!(log.state.lock().unwrap().waiting.len() <= MOST_WAITING);
    }

    #[test]
    fn a_full_disk_is_no_trouble() {
        let run = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", run.path().join("full")).unwrap();
        let log = Log { path: run.path().join("full"), state: Mutex::default() };
        log.take_all(io::repeat(b'x').take(3 << 20));
        assert!(log.state.lock().unwrap().waiting.is_empty());
    }
}
