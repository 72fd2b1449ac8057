//! Ctrl-C and SIGTERM as a flag that long work looks at.

use std::{
    fs, io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

/// Signals this close together are one request: Ctrl-C reaches a whole process group, and a
/// program that started another one forwards it as well.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// Says whether the user or the cluster asked the program to stop.
///
/// Work looks at it at points where stopping loses nothing, saves, and returns.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Request>);

#[derive(Debug, Default)]
struct Request {
    /// Looked at in every step of every environment: threads must not wait for each other there.
    raised: AtomicBool,
    /// Held while it is raised, so that nobody begins to wait after the news.
    raising: Mutex<()>,
    changed: Condvar,
}

impl Request {
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.raising.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interrupt {
    /// A flag that only [`raise`](Self::raise) sets; for tests and for libraries' callers.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag that Ctrl-C, SIGTERM and SIGHUP set. A second signal, at least a second later, ends
    /// the process at once. A SIGHUP that was ignored, as `nohup` has it, stays so.
    ///
    /// # Errors
    /// When the system refuses the handlers, or a thread that waits for signals.
    pub fn on_signals() -> io::Result<Self> {
        let interrupt = Self::new();
        let mut kinds = vec![SIGINT, SIGTERM];
        if !is_ignored(SIGHUP) {
            kinds.push(SIGHUP);
        }
        let mut signals = Signals::new(kinds)?;
        let flag = interrupt.clone();
        let wait = move || {
            let mut first = None;
            for _ in signals.forever() {
                flag.raise();
                let first = *first.get_or_insert_with(Instant::now);
                if first.elapsed() >= ONE_REQUEST {
                    std::process::exit(130);
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(wait)?;
        Ok(interrupt)
    }

    /// Asks for a stop.
    pub fn raise(&self) {
        let _raising = self.0.lock();
        self.0.raised.store(true, Ordering::SeqCst);
        self.0.changed.notify_all();
    }

    /// Whether a stop was asked for.
    pub fn is_raised(&self) -> bool {
        self.0.raised.load(Ordering::SeqCst)
    }

    /// Waits until a stop is asked for.
    pub fn wait(&self) {
        while !self.wait_for(Duration::MAX) {}
    }

    /// Waits until a stop is asked for, for so long at most; whether it was.
    pub fn wait_for(&self, limit: Duration) -> bool {
        let waits = |_: &mut ()| !self.is_raised();
        drop(self.0.changed.wait_timeout_while(self.0.lock(), limit, waits));
        self.is_raised()
    }
}

/// Whether the process was started with `signal` ignored; `false` where the system does not say.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_with_the_request_or_the_time() {
        let interrupt = Interrupt::new();
        assert!(!interrupt.wait_for(Duration::ZERO));
        let raiser = interrupt.clone();
        let raising = thread::spawn(move || raiser.raise());
        interrupt.wait();
        assert!(interrupt.is_raised() && interrupt.wait_for(Duration::MAX));
        raising.join().unwrap();
    }
}
