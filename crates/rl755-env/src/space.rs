//! Action and observation spaces.

use serde::{Deserialize, Serialize};

/// The element type of a space's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// 8-bit unsigned integers: frames.
    U8,
    /// 32-bit floats.
    F32,
}

/// The set of values an action or an observation can take, as in Gymnasium.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Space {
    /// Frames: bytes in 0..=255 of shape `[height, width, channel]`.
    Image {
        /// Pixels from top to bottom.
        height: usize,
        /// Pixels from left to right.
        width: usize,
        /// 3 for red, green, blue; 1 for grey.
        channels: usize,
    },
    /// A vector of floats, each within its bounds (which may be infinite).
    Box {
        /// Least value of each element.
        #[serde(serialize_with = "bounds::serialize", deserialize_with = "bounds::low")]
        low: Vec<f32>,
        /// Greatest value of each element.
        #[serde(serialize_with = "bounds::serialize", deserialize_with = "bounds::high")]
        high: Vec<f32>,
    },
    /// Whole numbers from 0 to n - 1, held as one float.
    Discrete {
        /// How many values there are.
        n: usize,
    },
}

impl Space {
    /// How many values one element of this space has: the product of its shape, 1 for discrete.
    pub fn width(&self) -> usize {
        self.shape().iter().product()
    }

    /// The shape, row-major.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            Self::Image { height, width, channels } => vec![*height, *width, *channels],
            Self::Box { low, .. } => vec![low.len()],
            Self::Discrete { .. } => vec![1],
        }
    }

    /// The element type.
    pub fn element(&self) -> Element {
        match self {
            Self::Image { .. } => Element::U8,
            Self::Box { .. } | Self::Discrete { .. } => Element::F32,
        }
    }
}

/// JSON has no infinities: an unbounded side is `null`.
mod bounds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &[f32], s: S) -> Result<S::Ok, S::Error> {
        values.iter().map(|v| v.is_finite().then_some(*v)).collect::<Vec<_>>().serialize(s)
    }

    pub(super) fn low<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<f32>, D::Error> {
        or(d, f32::NEG_INFINITY)
    }

    pub(super) fn high<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<f32>, D::Error> {
        or(d, f32::INFINITY)
    }

    fn or<'de, D: Deserializer<'de>>(d: D, unbounded: f32) -> Result<Vec<f32>, D::Error> {
        let values = Vec::<Option<f32>>::deserialize(d)?;
        Ok(values.into_iter().map(|v| v.unwrap_or(unbounded)).collect())
    }
}
