//! Why there is no film.

use std::{io, path::PathBuf};

use rl755_env::EnvError;

/// An episode could not be filmed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VideoError {
    /// The environment draws no pictures, and its observations are none.
    #[error("{env} has no frames to film: it draws none, and an observation is {space}")]
    NoFrames {
        /// The environment's id.
        env: String,
        /// Its observation space.
        space: String,
    },
    /// A frame could not be encoded.
    #[error("frame {frame} could not be encoded: {reason}")]
    Frame {
        /// Which frame, from 0.
        frame: usize,
        /// What libwebp said.
        reason: String,
    },
    /// The environment could not draw.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// The file could not be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
