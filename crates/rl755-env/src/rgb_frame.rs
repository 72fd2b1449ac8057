//! Pictures for people.

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
}
