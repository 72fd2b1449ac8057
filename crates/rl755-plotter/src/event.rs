//! What a plotter tells of its worker.

use std::{fmt, time::Duration};

/// What became of a worker. Displayed, it is a sentence for people.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The page is served, for the first time or again.
    Ready {
        /// Where, with the token if one is needed.
        url: String,
        /// The worker's process id.
        process: u32,
    },
    /// The worker could not be started, or ended. Training goes on.
    Ended {
        /// Why, as far as one knows.
        reason: String,
        /// When it is started again.
        restart_in: Duration,
    },
    /// Something else is amiss.
    Trouble(String),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready { url, .. } => write!(f, "the plot is at {url}"),
            Self::Ended { reason, restart_in } => {
                write!(f, "the plotter's worker {reason}; it is started again in {restart_in:?}")
            }
            Self::Trouble(what) => write!(f, "plotter: {what}"),
        }
    }
}
