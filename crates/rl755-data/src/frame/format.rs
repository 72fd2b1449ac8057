//! The ways in which frames are stored.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    FrameError, FrameShape,
    frame::png::{check_frame, decode_frame, encode_frame},
    frame::tensor,
};

/// Deflate, and so PNG, makes at most 1,032 bytes of one: 258 of a match whose length and distance
/// take a bit each.
const MAX_INFLATION: usize = 1032;

/// How the frames of a rollout are stored: `png` or `tensor`.
///
/// ```
/// use rl755_data::{FrameFormat, FrameShape};
///
/// let shape = FrameShape { height: 2, width: 2, channels: 1 };
/// let stored = FrameFormat::Tensor.encode(shape, &[1, 2, 3, 4])?;
/// let mut frame = [0; 4];
/// FrameFormat::named("tensor").unwrap().decode(shape, &stored, &mut frame)?;
/// assert_eq!(frame, [1, 2, 3, 4]);
/// # Ok::<(), rl755_data::FrameError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameFormat {
    /// A PNG picture, about 2 KB for a frame of CarRacing. The default: small, lossless, and read
    /// by everything that reads pictures.
    #[default]
    Png,
    /// The bytes of `tf.io.serialize_tensor`, which `tf.io.parse_tensor` reads: 27.7 KB for a frame
    /// of CarRacing. It serves where the original's scripts are to read the frames, and where
    /// reading must be no more than copying and the disk has room.
    Tensor,
}

impl FrameFormat {
    /// All formats, the default first.
    pub const ALL: [Self; 2] = [Self::Png, Self::Tensor];

    /// Its name in `observation_format` and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Tensor => "tensor",
        }
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// `frame` in this format. The same frame gives the same bytes.
    ///
    /// # Errors
    /// When the format has no frames of that shape.
    ///
    /// # Panics
    /// When `frame` has not [`FrameShape::bytes`] bytes.
    pub fn encode(self, shape: FrameShape, frame: &[u8]) -> Result<Vec<u8>, FrameError> {
        match self {
            Self::Png => encode_frame(shape, frame),
            Self::Tensor => Ok(tensor::encode(shape, frame)),
        }
    }

    /// Decodes the stored frame `bytes` into `frame`.
    ///
    /// # Errors
    /// When it is damaged or has another shape.
    ///
    /// # Panics
    /// When `frame` has not [`FrameShape::bytes`] bytes.
    pub fn decode(
        self,
        shape: FrameShape,
        bytes: &[u8],
        frame: &mut [u8],
    ) -> Result<(), FrameError> {
        match self {
            Self::Png => decode_frame(shape, bytes, frame),
            Self::Tensor => tensor::decode(shape, bytes, frame),
        }
    }

    /// Checks what can be known of the stored frame `bytes` without decoding its pixels: that it
    /// has this shape, and enough bytes for it.
    ///
    /// # Errors
    /// When that is not so.
    pub fn check(self, shape: FrameShape, bytes: &[u8]) -> Result<(), FrameError> {
        match self {
            Self::Png => {
                check_frame(shape, bytes)?;
                // A row has a byte for its filter.
                let needed = shape.height + shape.bytes();
                if bytes.len().saturating_mul(MAX_INFLATION) < needed {
                    let reason = format!("{} bytes cannot hold its pixels", bytes.len());
                    return Err(FrameError::NotPng { reason });
                }
                Ok(())
            }
            Self::Tensor => tensor::check(shape, bytes),
        }
    }
}

impl fmt::Display for FrameFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
