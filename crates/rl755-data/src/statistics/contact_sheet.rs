//! Frames of a dataset side by side in one picture.

use std::{fs::File, io, path::PathBuf};

use super::{RolloutPlace, Statistics};
use crate::{
    FrameError, FrameShape, OriginalRollout, RecordError, SchemaError,
    dataset::read_record_into,
    encode_frame, original,
    record::RecordPosition,
    schema::encoded_record::LATENT,
    schema::raw_record::{RawRecord, frame_shape},
};

/// Rollouts on a sheet, one in each row.
pub(super) const ROWS: usize = 8;
/// Moments of a rollout, from its first step to its last.
const COLUMNS: usize = 8;
/// Pixels between frames, which are white.
const GAP: usize = 2;
const WHITE: u8 = 255;
/// The longest side of a frame on a sheet, in pixels; of larger ones every second pixel, every third
/// and so on is drawn.
const MAX_SIDE: usize = 256;

/// A picture of frames, in rows of one rollout each and columns of increasing time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactSheet {
    /// Its shape, in red, green and blue.
    pub shape: FrameShape,
    /// Its pixels, `[height, width, 3]`.
    pub pixels: Vec<u8>,
}

/// A contact sheet could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContactSheetError {
    /// A record changed since the statistics were made.
    #[error("{}: {source}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: RecordError,
    },
    /// A record is no longer a rollout with such frames, or one of them cannot be decoded.
    #[error("{}: record {record}: {source}", path.display())]
    Frame {
        /// The file.
        path: PathBuf,
        /// Which record, from 0.
        record: u64,
        /// What is wrong.
        source: SchemaError,
    },
    /// The file cannot be opened.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
}

impl ContactSheet {
    /// The sheet as a PNG picture.
    ///
    /// # Errors
    /// When PNG has no pictures of that size.
    pub fn to_png(&self) -> Result<Vec<u8>, FrameError> {
        encode_frame(self.shape, &self.pixels)
    }
}

impl Statistics {
    /// Draws frames of up to 8 rollouts, evenly among all, each at up to 8 moments, evenly from its
    /// first step to its last; `None` where observations are no frames. Reads those rollouts again.
    ///
    /// # Errors
    /// When they are no longer there as they were, or a frame cannot be decoded.
    pub fn contact_sheet(&self) -> Result<Option<ContactSheet>, ContactSheetError> {
        let shape = frame_shape(&self.environment.observation_space);
        let Some(shape) = shape.filter(|_| self.observation_format != LATENT) else {
            return Ok(None);
        };
        let mut canvas = Canvas::new(shape, self.samples.len());
        for (row, place) in self.samples.iter().enumerate() {
            let data = place.read()?;
            let frames = self.frames(&data, shape).map_err(|source| place.frame_error(source))?;
            for (column, frame) in frames.iter().enumerate() {
                canvas.draw(row, column, frame);
            }
        }
        Ok(Some(canvas.sheet))
    }

    /// The pixels of the frames of a record that are drawn; each is of `shape`.
    fn frames(&self, record: &[u8], shape: FrameShape) -> Result<Vec<Vec<u8>>, SchemaError> {
        let changed = |found: String| SchemaError::Misfit {
            what: "environment or kind",
            found,
            expected: self.environment.id.clone(),
        };
        if original::is_unknown(&self.environment) {
            let rollout = OriginalRollout::parse(record)?;
            let frames = rollout.frames().filter(|(found, _)| *found == shape);
            let Some((_, frames)) = frames else {
                return Err(changed("another record of the original project".to_owned()));
            };
            return Ok(evenly(frames.len(), COLUMNS).map(|step| frames[step].to_vec()).collect());
        }
        let raw = RawRecord::parse(record)?;
        if raw.parsed.head.environment != self.environment {
            return Err(changed(raw.parsed.head.environment.id));
        }
        let decode = |step| {
            let mut frame = vec![0; shape.bytes()];
            raw.decode_frame(step, &mut frame).map(|()| frame)
        };
        evenly(raw.parsed.head.steps, COLUMNS).map(decode).collect()
    }
}

impl RolloutPlace {
    fn read(&self) -> Result<Vec<u8>, ContactSheetError> {
        let file = File::open(&self.path)
            .map_err(|source| ContactSheetError::Io { path: self.path.clone(), source })?;
        let position = RecordPosition { offset: self.offset, length: self.length };
        let mut buffer = Vec::new();
        read_record_into(&file, self.record, position, &mut buffer)
            .map(<[u8]>::to_vec)
            .map_err(|source| ContactSheetError::Record { path: self.path.clone(), source })
    }

    fn frame_error(&self, source: SchemaError) -> ContactSheetError {
        ContactSheetError::Frame { path: self.path.clone(), record: self.record, source }
    }
}

/// A sheet while it is drawn.
struct Canvas {
    sheet: ContactSheet,
    frame: FrameShape,
    /// Every how many pixels one is drawn.
    stride: usize,
}

impl Canvas {
    fn new(frame: FrameShape, rows: usize) -> Self {
        let stride = frame.height.max(frame.width).div_ceil(MAX_SIDE).max(1);
        let side = |pixels: usize, count: usize| (pixels.div_ceil(stride) + GAP) * count + GAP;
        let shape = FrameShape {
            height: side(frame.height, rows),
            width: side(frame.width, COLUMNS),
            channels: 3,
        };
        let sheet = ContactSheet { shape, pixels: vec![WHITE; shape.bytes()] };
        Self { sheet, frame, stride }
    }

    fn draw(&mut self, row: usize, column: usize, pixels: &[u8]) {
        let FrameShape { height, width, channels } = self.frame;
        // One or two channels are grey, and grey with transparency.
        let green_and_blue = if channels < 3 { [0, 0] } else { [1, 2] };
        for (i, y) in (0..height).step_by(self.stride).enumerate() {
            for (j, x) in (0..width).step_by(self.stride).enumerate() {
                let from = &pixels[(y * width + x) * channels..][..channels];
                let place = |n: usize, size: usize, at: usize| {
                    GAP + n * (size.div_ceil(self.stride) + GAP) + at
                };
                let (top, left) = (place(row, height, i), place(column, width, j));
                let to = (top * self.sheet.shape.width + left) * 3;
                let [green, blue] = green_and_blue;
                self.sheet.pixels[to..to + 3].copy_from_slice(&[from[0], from[green], from[blue]]);
            }
        }
    }
}

/// Up to `most` of the numbers below `count`, evenly from the first to the last.
pub(super) fn evenly(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let chosen = count.min(most);
    (0..chosen).map(move |i| if chosen < 2 { 0 } else { i * (count - 1) / (chosen - 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_even_from_the_first_to_the_last() {
        let check = |count, most, expected: &[usize]| {
            assert_eq!(evenly(count, most).collect::<Vec<_>>(), expected, "{count}, {most}");
        };
        check(0, 8, &[]);
        check(1, 8, &[0]);
        check(3, 8, &[0, 1, 2]);
        check(8, 8, &[0, 1, 2, 3, 4, 5, 6, 7]);
        check(100, 4, &[0, 33, 66, 99]);
        check(5, 1, &[0]);
    }

    #[test]
    fn frames_of_any_channels_and_size_are_drawn_in_their_place() {
        let frame = FrameShape { height: 1, width: 2, channels: 2 };
        let mut canvas = Canvas::new(frame, 2);
        assert_eq!(canvas.sheet.shape, FrameShape { height: 8, width: 34, channels: 3 });
        canvas.draw(1, 7, &[10, 99, 20, 99]);
        let at = |canvas: &Canvas, y: usize, x: usize| {
            let start = (y * canvas.sheet.shape.width + x) * 3;
            canvas.sheet.pixels[start..start + 3].to_vec()
        };
        assert_eq!((at(&canvas, 5, 30), at(&canvas, 5, 31)), (vec![10; 3], vec![20; 3]));
        assert_eq!((at(&canvas, 5, 29), at(&canvas, 4, 30)), (vec![WHITE; 3], vec![WHITE; 3]));
        // Every third pixel of a larger one.
        let frame = FrameShape { height: 600, width: 4, channels: 3 };
        let mut canvas = Canvas::new(frame, 1);
        assert_eq!((canvas.sheet.shape.height, canvas.sheet.shape.width), (204, 34));
        let pixels: Vec<u8> = (0..frame.bytes()).map(|i| (i / 3) as u8).collect();
        canvas.draw(0, 0, &pixels);
        assert_eq!((at(&canvas, 3, 2), at(&canvas, 3, 3)), (vec![12; 3], vec![15; 3]));
    }
}
