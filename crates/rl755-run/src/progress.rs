//! How long work reports on itself, without knowing of terminals.

/// Where long work says how far it is. The command lines show a bar with rate and time left.
pub trait Progress: Send + Sync {
    /// `done` of `total` units are finished.
    fn set(&self, done: u64, total: u64);

    /// A short line to show beside the bar: the loss, the score.
    fn note(&self, _text: &str) {}

    /// A line that should stay on the screen: a warning, a finished generation.
    fn line(&self, _text: &str) {}

    /// Nothing more will be reported.
    fn end(&self) {}
}

/// Reports to nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn set(&self, _done: u64, _total: u64) {}
}

/// `812.3516`, `0.0312`, `1.0e-5`: a metric in few digits.
pub fn metric(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.1e}") } else { format!("{value:.4}") }
}

/// `3.2 s`, `4 min 32 s`, `2 h 01 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, _) => format!("{seconds:.1} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_metrics_are_no_zeros() {
        for (value, expected) in
            [(812.35162, "812.3516"), (0.001, "0.0010"), (0.0, "0.0000"), (-2.5e-5, "-2.5e-5")]
        {
            assert_eq!(metric(value), expected);
        }
    }

    #[test]
    fn durations_are_short() {
        assert_eq!(duration(3.25), "3.2 s");
        assert_eq!(duration(59.96), "1 min 00 s");
        assert_eq!(duration(272.0), "4 min 32 s");
        assert_eq!(duration(7300.0), "2 h 01 min");
    }
}
