//! Progress on the terminal: a bar with rate and time left, or plain lines where there is none.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{DecimalBytes, ProgressBar, ProgressState, ProgressStyle};
use rl755_run::{Progress, duration};

/// How often a log file gets a line.
const LOG_EVERY: Duration = Duration::from_secs(30);

/// The unit of a bar that counts bytes, which are told as MB and GB.
pub(crate) const BYTES: &str = "bytes";

/// A bar on stderr. Log files get a line every half minute instead.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// What log files are told; `None` on a terminal.
    log: Option<Mutex<Log>>,
    /// Whether it counts bytes.
    bytes: bool,
}

struct Log {
    began: Instant,
    first: Option<u64>,
    printed: Option<Instant>,
    note: String,
}

impl Bar {
    /// A bar that counts `unit`s: `rollouts`, `steps`, [`BYTES`].
    pub(crate) fn new(unit: &str) -> Self {
        let bar = ProgressBar::new(0);
        let bytes = unit == BYTES;
        let count = if bytes {
            "{decimal_bytes}/{decimal_total_bytes}".to_owned()
        } else {
            format!("{{pos}}/{{len}} {unit}")
        };
        let template = format!("{{bar:30}} {count}  {{pace}}  {{msg}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            let pace = move |state: &ProgressState, out: &mut dyn fmt::Write| {
                let left = state.len().unwrap_or(0).saturating_sub(state.pos());
                // A terminal that is gone needs no pace.
                let _ = out.write_str(&pace(state.per_sec(), left, bytes));
            };
            bar.set_style(style.with_key("pace", pace).progress_chars("━╸ "));
        }
        let log = (!io::stderr().is_terminal()).then(|| {
            let began = Instant::now();
            Mutex::new(Log { began, first: None, printed: None, note: String::new() })
        });
        Self { bar, log, bytes }
    }
}

impl Progress for Bar {
    fn set(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        // What a resumed run already had does not count towards the rate.
        let resumed = self.bar.position() == 0 && done > 0;
        self.bar.set_position(done);
        if resumed {
            self.bar.reset_eta();
        }
        let Some(log) = &self.log else { return };
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        let first = *log.first.get_or_insert(done);
        let due = log.printed.is_none_or(|at| at.elapsed() >= LOG_EVERY) || done == total;
        if due && done > first {
            let rate = (done - first) as f64 / log.began.elapsed().as_secs_f64().max(1e-9);
            let pace = pace(rate, total.saturating_sub(done), self.bytes);
            let count = if self.bytes {
                format!("{}/{}", DecimalBytes(done), DecimalBytes(total))
            } else {
                format!("{done}/{total}")
            };
            self.line(&format!("{count}  {pace}  {}", log.note));
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

    fn end(&self) {
        let shown = self.log.is_none() && self.bar.length().is_some_and(|length| length > 0);
        if shown && !self.bar.is_finished() {
            self.bar.abandon();
            // What is said next does not belong behind the bar.
            let _ = writeln!(io::stderr());
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.end();
    }
}

/// Rate and time left, `7.6/s  3 min 07 s left`, for a rate in 1/s and what is left to do. Nothing
/// before there is a rate.
fn pace(rate: f64, left: u64, bytes: bool) -> String {
    if rate <= 0.0 || !rate.is_finite() {
        return String::new();
    }
    let rate_text = match rate {
        _ if bytes => format!("{}/s", DecimalBytes(rate as u64)),
        10.0.. => format!("{rate:.0}/s"),
        1.0.. => format!("{rate:.1}/s"),
        _ => format!("{:.1} s each", 1.0 / rate),
    };
    if left == 0 {
        return rate_text;
    }
    format!("{rate_text}  {} left", duration(left as f64 / rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_told_in_few_digits() {
        let check = |rate, left, bytes, expected| assert_eq!(pace(rate, left, bytes), expected);
        check(766_505.3, 0, false, "766505/s");
        check(7.635, 1428, false, "7.6/s  3 min 07 s left");
        check(0.1333, 1000, false, "7.5 s each  2 h 05 min left");
        check(0.0, 10, false, "");
        check(5.2e9, 52_000_000_000, true, "5.20 GB/s  10.0 s left");
        check(0.5, 0, true, "0 B/s");
    }
}
