//! How long work reports on itself, without knowing of terminals.

/// Where long work says how far it is. The command lines show a bar with rate and time left.
pub trait Progress: Send + Sync {
    /// `done` of `total` units are finished.
    fn set(&self, done: u64, total: u64);

    /// A short line to show beside the bar: the loss, the score.
    fn note(&self, _text: &str) {}

    /// A line that should stay on the screen: a warning, a finished generation.
    fn line(&self, _text: &str) {}
}

/// Reports to nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn set(&self, _done: u64, _total: u64) {}
}
