//! Action and observation spaces.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ObservationRef;

/// The element type of a space's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// 8-bit unsigned integers: frames.
    U8,
    /// 32-bit floats.
    F32,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::U8 => "u8",
            Self::F32 => "f32",
        })
    }
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
        match self {
            Self::Image { height, width, channels } => height * width * channels,
            Self::Box { low, .. } => low.len(),
            Self::Discrete { .. } => 1,
        }
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

    /// Whether this space has this value, given as [`width`](Self::width) floats. NaN never is.
    pub fn contains(&self, value: &[f32]) -> bool {
        self.check(value).is_ok()
    }

    /// As [`contains`](Self::contains), naming the first element that is wrong.
    ///
    /// # Errors
    /// On a wrong number of elements, NaN, a fraction where a whole number is needed, and a value
    /// outside the bounds.
    pub fn check(&self, value: &[f32]) -> Result<(), SpaceError> {
        if value.len() != self.width() {
            return Err(SpaceError::Width { expected: self.width(), got: value.len() });
        }
        for (index, &element) in value.iter().enumerate() {
            self.check_element(index, element)?;
        }
        Ok(())
    }

    /// As [`check`](Self::check), for an observation in its own element type.
    ///
    /// # Errors
    /// As `check`, and when the element type differs.
    pub fn check_observation(&self, observation: ObservationRef<'_>) -> Result<(), SpaceError> {
        match (self.element(), observation) {
            (Element::U8, ObservationRef::U8(bytes)) if bytes.len() == self.width() => Ok(()),
            (Element::U8, ObservationRef::U8(bytes)) => {
                Err(SpaceError::Width { expected: self.width(), got: bytes.len() })
            }
            (Element::F32, ObservationRef::F32(values)) => self.check(values),
            (expected, _) => Err(SpaceError::Element { expected }),
        }
    }

    fn check_element(&self, index: usize, value: f32) -> Result<(), SpaceError> {
        let (low, high) = self.bounds(index);
        if value.is_nan() {
            return Err(SpaceError::NotANumber { index });
        }
        if !matches!(self, Self::Box { .. }) && value.fract() != 0.0 {
            return Err(SpaceError::NotWhole { index, value });
        }
        if value < low || value > high {
            return Err(SpaceError::OutOfBounds { index, value, low, high });
        }
        Ok(())
    }

    /// The least and the greatest value of element `index`.
    ///
    /// # Panics
    /// When a [`Space::Box`] has no such element.
    pub fn bounds(&self, index: usize) -> (f32, f32) {
        match self {
            Self::Image { .. } => (0.0, 255.0),
            Self::Box { low, high } => (low[index], high[index]),
            Self::Discrete { n } => (0.0, *n as f32 - 1.0),
        }
    }
}

impl fmt::Display for Space {
    /// As Gymnasium prints it: `Box([-1, 0, 0], [1, 1, 1])`, `Discrete(2)`,
    /// `Box(0, 255, (96, 96, 3), uint8)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image { height, width, channels } => {
                write!(f, "Box(0, 255, ({height}, {width}, {channels}), uint8)")
            }
            Self::Box { low, high } => write!(f, "Box({}, {})", Floats(low), Floats(high)),
            Self::Discrete { n } => write!(f, "Discrete({n})"),
        }
    }
}

/// Floats in brackets, without the `.0` of whole numbers.
pub(crate) struct Floats<'a>(pub(crate) &'a [f32]);

impl fmt::Display for Floats<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.0.iter().map(f32::to_string).collect();
        write!(f, "[{}]", shown.join(", "))
    }
}

/// Why a space does not contain a value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// Too few or too many elements.
    #[error("it has {got} elements, not {expected}")]
    Width {
        /// The space's width.
        expected: usize,
        /// The value's.
        got: usize,
    },
    /// An element is not a number.
    #[error("element {index} is NaN")]
    NotANumber {
        /// Which element.
        index: usize,
    },
    /// An element has a fraction where whole numbers are needed.
    #[error("element {index} is {value}, not a whole number")]
    NotWhole {
        /// Which element.
        index: usize,
        /// What it is.
        value: f32,
    },
    /// An element is too small or too large.
    #[error("element {index} is {value}, outside {low} to {high}")]
    OutOfBounds {
        /// Which element.
        index: usize,
        /// What it is.
        value: f32,
        /// Its least value.
        low: f32,
        /// Its greatest value.
        high: f32,
    },
    /// Bytes where floats are needed, or the other way round.
    #[error("its elements are not {expected}")]
    Element {
        /// The space's element type.
        expected: Element,
    },
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

#[cfg(test)]
mod tests {
    use super::*;

    fn car_actions() -> Space {
        Space::Box { low: vec![-1.0, 0.0, 0.0], high: vec![1.0; 3] }
    }

    fn complaint(space: &Space, value: &[f32]) -> String {
        space.check(value).expect_err("should be rejected").to_string()
    }

    #[test]
    fn spaces_print_as_in_gymnasium() {
        assert_eq!(car_actions().to_string(), "Box([-1, 0, 0], [1, 1, 1])");
        let half =
            Space::Box { low: vec![f32::NEG_INFINITY, -0.5], high: vec![f32::INFINITY, 2.5] };
        assert_eq!(half.to_string(), "Box([-inf, -0.5], [inf, 2.5])");
        assert_eq!(Space::Discrete { n: 2 }.to_string(), "Discrete(2)");
        let image = Space::Image { height: 96, width: 64, channels: 3 };
        assert_eq!(image.to_string(), "Box(0, 255, (96, 64, 3), uint8)");
    }

    #[test]
    fn bounds_belong_to_a_box() {
        assert!(car_actions().contains(&[-1.0, 0.0, 1.0]));
        assert!(car_actions().contains(&[1.0, 1.0, 0.0]));
    }

    #[test]
    fn the_offending_element_is_named() {
        let space = car_actions();
        assert_eq!(complaint(&space, &[0.0, 1.5, 0.0]), "element 1 is 1.5, outside 0 to 1");
        assert_eq!(complaint(&space, &[0.0, 0.0, f32::NAN]), "element 2 is NaN");
        assert_eq!(
            complaint(&space, &[f32::INFINITY, 0.0, 0.0]),
            "element 0 is inf, outside -1 to 1"
        );
        assert_eq!(complaint(&space, &[0.0, 0.0]), "it has 2 elements, not 3");
    }

    #[test]
    fn discrete_values_are_whole_and_in_range() {
        let space = Space::Discrete { n: 2 };
        assert!(space.contains(&[0.0]) && space.contains(&[1.0]));
        assert_eq!(complaint(&space, &[0.5]), "element 0 is 0.5, not a whole number");
        assert_eq!(complaint(&space, &[2.0]), "element 0 is 2, outside 0 to 1");
        assert_eq!(complaint(&space, &[-1.0]), "element 0 is -1, outside 0 to 1");
        assert_eq!(complaint(&space, &[f32::NAN]), "element 0 is NaN");
    }

    #[test]
    fn observations_are_checked_in_their_own_type() {
        let image = Space::Image { height: 1, width: 2, channels: 1 };
        assert_eq!(image.check_observation(ObservationRef::U8(&[0, 255])), Ok(()));
        assert!(image.check_observation(ObservationRef::U8(&[0])).is_err());
        assert!(image.check_observation(ObservationRef::F32(&[0.0, 0.0])).is_err());
        assert!(car_actions().check_observation(ObservationRef::F32(&[0.0; 3])).is_ok());
    }

    #[test]
    fn unbounded_sides_survive_json() {
        let space =
            Space::Box { low: vec![f32::NEG_INFINITY, 0.0], high: vec![1.0, f32::INFINITY] };
        let text = serde_json::to_string(&space).unwrap();
        assert_eq!(text, r#"{"kind":"box","low":[null,0.0],"high":[1.0,null]}"#);
        assert_eq!(serde_json::from_str::<Space>(&text).unwrap(), space);
    }
}
