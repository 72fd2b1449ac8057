//! Progress on the terminal: a bar with rate and time left, or plain lines where there is none.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use rl755_run::Progress;

/// How often a log file gets a line.
const LOG_EVERY: Duration = Duration::from_secs(30);

/// A bar on stderr. Log files get a line every half minute instead.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// What log files are told; `None` on a terminal.
    log: Option<Mutex<Log>>,
}

struct Log {
    began: Instant,
    first: Option<u64>,
    printed: Option<Instant>,
    note: String,
}

impl Bar {
    /// A bar that counts `unit`s: `rollouts`, `steps`.
    pub(crate) fn new(unit: &str) -> Self {
        let bar = ProgressBar::new(0);
        let template =
            format!("{{bar:30}} {{pos}}/{{len}} {unit}  {{per_sec}}  {{eta}} left  {{msg}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.progress_chars("━╸ "));
        }
        let log = (!io::stderr().is_terminal()).then(|| {
            let began = Instant::now();
            Mutex::new(Log { began, first: None, printed: None, note: String::new() })
        });
        Self { bar, log }
    }
}

impl Progress for Bar {
    fn set(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        // What a resumed run already had does not count towards the rate.
        if self.bar.position() == 0 && done > 0 {
            self.bar.reset_eta();
        }
        self.bar.set_position(done);
        let Some(log) = &self.log else { return };
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        let first = *log.first.get_or_insert(done);
        let due = log.printed.is_none_or(|at| at.elapsed() >= LOG_EVERY) || done == total;
        if due && done > first {
            let rate = (done - first) as f64 / log.began.elapsed().as_secs_f64().max(1e-9);
            let left = (total - done) as f64 / rate;
            self.line(&format!("{done}/{total}  {rate:.1}/s  {left:.0}s left  {}", log.note));
            log.printed = Some(Instant::now());
        }
    }

    fn note(&self, text: &str) {
        match &self.log {
            Some(log) => {
                text.clone_into(&mut log.lock().unwrap_or_else(PoisonError::into_inner).note);
            }
            None => self.bar.set_message(text.to_owned()),
        }
    }

    fn line(&self, text: &str) {
        if self.log.is_some() {
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(io::stderr(), "{text}");
        } else {
            self.bar.println(text);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.abandon();
    }
}
