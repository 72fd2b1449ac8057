//! Frames: their shape, and how they are stored.

mod format;
mod png;
pub(crate) mod tensor;

pub use self::{
    format::FrameFormat,
    png::{check_frame, decode_frame, encode_frame},
};

/// A frame could not be stored or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// PNG has no pictures with that many channels.
    #[error("a frame of {channels} channels cannot be stored as PNG, only one of 1 to 4")]
    Channels {
        /// The frame's channels.
        channels: usize,
    },
    /// The bytes are no PNG picture, or a damaged one.
    #[error("not a PNG picture: {reason}")]
    NotPng {
        /// What is wrong with them.
        reason: String,
    },
    /// The bytes are no tensor of 8-bit unsigned integers.
    #[error("not a tensor of bytes: {reason}")]
    NotTensor {
        /// What is wrong with them.
        reason: String,
    },
    /// The picture has another shape than the environment's frames.
    #[error("a picture of {found}, where {expected} is needed")]
    Shape {
        /// `height x width x channels`, and the bits per sample where they are not 8.
        found: String,
        /// The same for the environment's frames.
        expected: String,
    },
}

impl FrameError {
    pub(crate) fn not_png(reason: impl Into<String>) -> Self {
        Self::NotPng { reason: reason.into() }
    }
}

/// The shape of a frame, `[height, width, channel]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameShape {
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// Samples per pixel, 1 to 4: grey, grey and alpha, RGB, RGBA.
    pub channels: usize,
}

impl FrameShape {
    /// Bytes in a frame.
    pub fn bytes(self) -> usize {
        self.height * self.width * self.channels
    }

    /// Bytes in a row.
    pub(crate) fn row(self) -> usize {
        self.width * self.channels
    }
}
