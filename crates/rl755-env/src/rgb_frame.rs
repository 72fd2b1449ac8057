//! Pictures for people.

use crate::{ObservationRef, Space};

/// A picture of an environment's state, as Gymnasium's `render()` gives in the mode `rgb_array`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RgbFrame {
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// Red, green, blue: `[height, width, 3]`, row by row from the top.
    pub pixels: Vec<u8>,
}

impl RgbFrame {
    /// A picture of one colour.
    pub fn filled(height: usize, width: usize, color: [u8; 3]) -> Self {
        Self { height, width, pixels: color.repeat(height * width) }
    }

    /// An observation of `space` as a picture, where it is a frame of one or three channels.
    pub fn of_observation(space: &Space, observation: ObservationRef<'_>) -> Option<Self> {
        let Space::Image { height, width, channels } = *space else { return None };
        let ObservationRef::U8(bytes) = observation else { return None };
        let pixels = match channels {
            1 => bytes.iter().flat_map(|&grey| [grey; 3]).collect(),
            3 => bytes.to_vec(),
            _ => return None,
        };
        Some(Self { height, width, pixels })
    }
}
