//! Observations as models see them, and back.

use rayon::prelude::*;
use rl755_data::unit_floats;
use rl755_env::{Element, ObservationBuffer, ObservationRef, Space};

use crate::{EncoderError, resize::AreaResize};

/// Brings observations of an environment's space into a model's input space, as floats: frames
/// are scaled to 0..=1 and resized where their size differs, vectors stay.
#[derive(Clone, Debug)]
pub(crate) struct InputForm {
    space: Space,
    input: Space,
    /// To the input space, and back.
    resize: Option<[AreaResize; 2]>,
}

impl InputForm {
    /// From observations of `space` to those of `input`, which `encoder` asks for.
    ///
    /// # Errors
    /// When that is more than resizing frames.
    pub(crate) fn new(encoder: &str, space: &Space, input: &Space) -> Result<Self, EncoderError> {
        let resize = match (space, input) {
            (space, input) if space == input => None,
            (
                &Space::Image { height, width, channels },
                &Space::Image { height: to_height, width: to_width, channels: to_channels },
            ) if channels == to_channels => {
                let (from, to) = ([height, width], [to_height, to_width]);
                let there = AreaResize::new(from, to, channels);
                Some([there, AreaResize::new(to, from, channels)])
            }
            _ => {
                return Err(EncoderError::Space {
                    encoder: encoder.to_owned(),
                    expected: input.to_string(),
                    found: space.to_string(),
                });
            }
        };
        Ok(Self { space: space.clone(), input: input.clone(), resize })
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

    /// Brings rows of the input space back into the environment's.
    pub(crate) fn restore(&self, rows: &[f32]) -> ObservationBuffer {
        if self.space.element() == Element::F32 {
            return ObservationBuffer::F32(rows.to_vec());
        }
        let Some([_, back]) = &self.resize else {
            return ObservationBuffer::U8(rows.iter().map(|&v| byte(v)).collect());
        };
        let (from, to) = (self.input.width(), self.space.width());
        let mut bytes = vec![0; rows.len() / from * to];
        bytes.par_chunks_mut(to).zip(rows.par_chunks(from)).for_each(|(bytes, row)| {
            let mut frame = vec![0.0; to];
            back.apply(row, 1.0, &mut frame);
            bytes.iter_mut().zip(frame).for_each(|(to, from)| *to = byte(from));
        });
        ObservationBuffer::U8(bytes)
    }
}

/// A value in 0..=1 as a byte.
pub(crate) fn byte(value: f32) -> u8 {
    (value * 255.0).round() as u8
}
