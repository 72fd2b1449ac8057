//! Observations as models see them, and back.

use rayon::prelude::*;
use rl755_data::unit_floats;
use rl755_env::{Element, ObservationBuffer, ObservationRef, Space};

use crate::{EncoderError, resize::AreaResize};

/// Brings observations of an environment's space into a model's input space, as floats: frames
/// are scaled to 0..=1, made grey where the model takes one channel instead of three, and resized
/// where their size differs; vectors stay.
#[derive(Clone, Debug)]
pub(crate) struct InputForm {
    space: Space,
    input: Space,
    /// Frames of three channels become ones of luminance.
    grey: bool,
    /// To the input space, and back.
    resize: Option<[AreaResize; 2]>,
}

impl InputForm {
    /// From observations of `space` to those of `input`, which `encoder` asks for.
    ///
    /// # Errors
    /// When that is more than resizing frames and making them grey.
    pub(crate) fn new(encoder: &str, space: &Space, input: &Space) -> Result<Self, EncoderError> {
        let (grey, resize) = match (space, input) {
            (space, input) if space == input => (false, None),
            (
                &Space::Image { height, width, channels },
                &Space::Image { height: to_height, width: to_width, channels: to_channels },
            ) if channels == to_channels || [channels, to_channels] == [3, 1] => {
                let (from, to) = ([height, width], [to_height, to_width]);
                let resize = |from, to| AreaResize::new(from, to, to_channels);
                let resize = (from != to).then(|| [resize(from, to), resize(to, from)]);
                (channels != to_channels, resize)
            }
            _ => {
                return Err(EncoderError::Space {
                    encoder: encoder.to_owned(),
                    expected: input.to_string(),
                    found: space.to_string(),
                });
            }
        };
        Ok(Self { space: space.clone(), input: input.clone(), grey, resize })
    }

    /// The environment's space.
    pub(crate) fn space(&self) -> &Space {
        &self.space
    }

    /// The model's input space.
    pub(crate) fn input(&self) -> &Space {
        &self.input
    }

    /// How many observations there are in `observations`.
    ///
    /// # Errors
    /// When they are of another element type, or not a whole number.
    pub(crate) fn count(&self, observations: ObservationRef<'_>) -> Result<usize, EncoderError> {
        let (len, element) = match observations {
            ObservationRef::U8(values) => (values.len(), Element::U8),
            ObservationRef::F32(values) => (values.len(), Element::F32),
        };
        let width = self.space.width();
        if element != self.space.element() || width == 0 || len % width != 0 {
            return Err(EncoderError::Batch {
                found: format!("{len} {element}"),
                expected: format!("a multiple of {width} {}", self.space.element()),
            });
        }
        Ok(len / width)
    }

    /// Brings whole observations, one after another, into the input space.
    ///
    /// # Panics
    /// When the lengths do not fit or the element type differs.
    pub(crate) fn fill(&self, observations: ObservationRef<'_>, rows: &mut [f32]) {
        let (from, to) = (self.space.width(), self.input.width());
        match (observations, &self.resize) {
            (ObservationRef::F32(values), _) => rows.copy_from_slice(values),
            (ObservationRef::U8(bytes), resize) if self.grey => {
                let mut frame = Vec::with_capacity(from / 3);
                for (bytes, row) in bytes.chunks_exact(from).zip(rows.chunks_exact_mut(to)) {
                    frame.clear();
                    frame.extend(bytes.chunks_exact(3).map(luminance));
                    match resize {
                        Some([there, _]) => there.apply(&frame, 1.0 / 255.0, row),
                        None => row.iter_mut().zip(&frame).for_each(|(to, v)| *to = v / 255.0),
                    }
                }
            }
            (ObservationRef::U8(bytes), None) => unit_floats(bytes, rows),
            (ObservationRef::U8(bytes), Some([there, _])) => {
                for (bytes, row) in bytes.chunks_exact(from).zip(rows.chunks_exact_mut(to)) {
                    there.apply(bytes, 1.0 / 255.0, row);
                }
            }
        }
    }

    /// As [`fill`](Self::fill), over all threads, into a new buffer.
    pub(crate) fn rows(&self, observations: ObservationRef<'_>) -> Vec<f32> {
        let (from, to) = (self.space.width(), self.input.width());
        match observations {
            ObservationRef::F32(values) => values.to_vec(),
            ObservationRef::U8(bytes) => {
                let mut rows = vec![0.0; bytes.len() / from * to];
                rows.par_chunks_mut(to).zip(bytes.par_chunks(from)).for_each(|(row, bytes)| {
                    self.fill(ObservationRef::U8(bytes), row);
                });
                rows
            }
        }
    }

    /// Brings rows of the input space back into the environment's; grey ones stay grey.
    pub(crate) fn restore(&self, rows: &[f32]) -> ObservationBuffer {
        if self.space.element() == Element::F32 {
            return ObservationBuffer::F32(rows.to_vec());
        }
        let (from, to) = (self.input.width(), self.space.width());
        let each = if self.grey { 3 } else { 1 };
        let mut bytes = vec![0; rows.len() / from * to];
        bytes.par_chunks_mut(to).zip(rows.par_chunks(from)).for_each(|(bytes, row)| {
            let mut frame = Vec::new();
            let frame = match &self.resize {
                None => row,
                Some([_, back]) => {
                    frame.resize(to / each, 0.0);
                    back.apply(row, 1.0, &mut frame);
                    &frame
                }
            };
            for (to, &value) in bytes.chunks_exact_mut(each).zip(frame) {
                to.fill(byte(value));
            }
        });
        ObservationBuffer::U8(bytes)
    }
}

/// How bright red, green and blue are together, 0 to 255: ITU-R 709, as
/// `rl755_env::wrappers::GrayscaleObservation` and Gymnasium have it.
fn luminance(pixel: &[u8]) -> f32 {
    const WEIGHTS: [f32; 3] = [0.2125, 0.7154, 0.0721];
    pixel.iter().zip(WEIGHTS).map(|(&value, weight)| f32::from(value) * weight).sum()
}

/// A value in 0..=1 as a byte.
pub(crate) fn byte(value: f32) -> u8 {
    (value * 255.0).round() as u8
}
