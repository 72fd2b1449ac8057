//! Ctrl-C and SIGTERM as a flag that long work looks at.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Signals this close together are one request: Ctrl-C reaches a whole process group, and a
/// program that started another one forwards it as well.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// Says whether the user or the cluster asked the program to stop.
///
/// Work looks at it at points where stopping loses nothing, saves, and returns.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that only [`raise`](Self::raise) sets; for tests and for libraries' callers.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag that Ctrl-C, SIGTERM and SIGHUP set. A second signal, at least a second later, ends
    /// the process at once.
    ///
    /// # Errors
    /// When a handler is already installed in this process.
    pub fn on_signals() -> Result<Self, ctrlc::Error> {
        let interrupt = Self::new();
        let flag = interrupt.0.clone();
        let mut first = None;
        ctrlc::set_handler(move || {
            flag.store(true, Ordering::SeqCst);
            let first = *first.get_or_insert_with(Instant::now);
            if first.elapsed() >= ONE_REQUEST {
                std::process::exit(130);
            }
        })?;
        Ok(interrupt)
    }

    /// Asks for a stop.
    pub fn raise(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether a stop was asked for.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
