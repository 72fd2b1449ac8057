//! Frames as PNG: 8 bits per sample, one picture per step.

use std::io::Cursor;

use png::{BitDepth, ColorType, Compression, Decoder, Encoder};

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
        /// What the decoder says.
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

    fn color_type(self) -> Result<ColorType, FrameError> {
        match self.channels {
            1 => Ok(ColorType::Grayscale),
            2 => Ok(ColorType::GrayscaleAlpha),
            3 => Ok(ColorType::Rgb),
            4 => Ok(ColorType::Rgba),
            channels => Err(FrameError::Channels { channels }),
        }
    }
}

/// `frame` as PNG. The same frame gives the same bytes.
///
/// # Errors
/// When PNG has no pictures of that shape.
///
/// # Panics
/// When `frame` has not [`FrameShape::bytes`] bytes.
pub fn encode_frame(shape: FrameShape, frame: &[u8]) -> Result<Vec<u8>, FrameError> {
    assert_eq!(frame.len(), shape.bytes(), "one byte per sample of {shape:?}");
    let color_type = shape.color_type()?;
    let not_png = |e: png::EncodingError| FrameError::NotPng { reason: e.to_string() };
    // Frames of CarRacing take about 2.4 KB.
    let mut bytes = Vec::with_capacity(4096);
    let mut encoder = Encoder::new(&mut bytes, shape.width as u32, shape.height as u32);
    encoder.set_color(color_type);
    encoder.set_depth(BitDepth::Eight);
    // Adaptive filters with a fast deflate: a fifth of the time of the default, and no larger.
    encoder.set_compression(Compression::Fast);
    let mut writer = encoder.write_header().map_err(not_png)?;
    writer.write_image_data(frame).map_err(not_png)?;
    writer.finish().map_err(not_png)?;
    Ok(bytes)
}

/// Decodes the PNG picture `bytes` into `frame`.
///
/// # Errors
/// When it is damaged or has another shape.
///
/// # Panics
/// When `frame` has not [`FrameShape::bytes`] bytes.
pub fn decode_frame(shape: FrameShape, bytes: &[u8], frame: &mut [u8]) -> Result<(), FrameError> {
    assert_eq!(frame.len(), shape.bytes(), "one byte per sample of {shape:?}");
    let mut reader = open(shape, bytes)?;
    reader.next_frame(frame).map_err(not_png)?;
    Ok(())
}

/// Checks that `bytes` begin like a PNG picture of `shape`, without decoding its pixels.
///
/// # Errors
/// When they do not.
pub fn check_frame(shape: FrameShape, bytes: &[u8]) -> Result<(), FrameError> {
    open(shape, bytes).map(|_| ())
}

fn open(shape: FrameShape, bytes: &[u8]) -> Result<png::Reader<Cursor<&[u8]>>, FrameError> {
    let mut decoder = Decoder::new(Cursor::new(bytes));
    // The record's checksum covers these bytes.
    decoder.ignore_checksums(true);
    let reader = decoder.read_info().map_err(not_png)?;
    let info = reader.info();
    let found = FrameShape {
        height: info.height as usize,
        width: info.width as usize,
        channels: info.color_type.samples(),
    };
    let wanted = (shape.color_type()?, BitDepth::Eight);
    if found != shape || (info.color_type, info.bit_depth) != wanted {
        let text = |s: FrameShape| format!("{}x{}x{}", s.height, s.width, s.channels);
        let bits = match info.bit_depth {
            BitDepth::Eight if info.color_type == ColorType::Indexed => " (indexed)".to_owned(),
            BitDepth::Eight => String::new(),
            depth => format!(" ({} bits)", depth as u8),
        };
        let found = format!("{}{bits}", text(found));
        return Err(FrameError::Shape { found, expected: text(shape) });
    }
    Ok(reader)
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function for map_err")]
fn not_png(error: png::DecodingError) -> FrameError {
    FrameError::NotPng { reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(shape: FrameShape) -> Vec<u8> {
        (0..shape.bytes()).map(|i| (i * i % 251) as u8).collect()
    }

    #[test]
    fn frames_come_back_unchanged() {
        for channels in 1..=4 {
            let shape = FrameShape { height: 7, width: 5, channels };
            let frame = picture(shape);
            let bytes = encode_frame(shape, &frame).unwrap();
            let mut decoded = vec![0; frame.len()];
            decode_frame(shape, &bytes, &mut decoded).unwrap();
            assert_eq!(decoded, frame);
        }
        let shape = FrameShape { height: 1, width: 1, channels: 5 };
        assert_eq!(encode_frame(shape, &[0; 5]), Err(FrameError::Channels { channels: 5 }));
    }

    #[test]
    fn other_shapes_and_other_bytes_are_rejected() {
        let shape = FrameShape { height: 7, width: 5, channels: 3 };
        let bytes = encode_frame(shape, &picture(shape)).unwrap();
        let other = FrameShape { height: 5, width: 7, channels: 3 };
        let error = check_frame(other, &bytes).unwrap_err().to_string();
        assert_eq!(error, "a picture of 7x5x3, where 5x7x3 is needed");
        assert!(matches!(check_frame(shape, b"GIF89a"), Err(FrameError::NotPng { .. })));
        assert!(matches!(check_frame(shape, &bytes[..20]), Err(FrameError::NotPng { .. })));
        let mut frame = vec![0; shape.bytes()];
        let cut = &bytes[..bytes.len() / 2];
        assert!(matches!(decode_frame(shape, cut, &mut frame), Err(FrameError::NotPng { .. })));
    }
}
