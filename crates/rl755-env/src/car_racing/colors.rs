//! The colours of a track and what is around it.

use crate::numpy::NumpyRng;

/// Greatest drawn level of a channel.
const DRAWN: f64 = 210.0;
/// By how much the squares of grass are lighter than the field, in one channel.
const GRASS: f64 = 20.0;

/// Colours of an episode of [`CarRacing`](super::CarRacing): red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarRacingColors {
    /// A tile of the road once the car has touched it.
    pub road: [u8; 3],
    /// Tile `i` of the road before that has the shade `i % 3`.
    pub shades: [[u8; 3]; 3],
    /// The field.
    pub field: [u8; 3],
    /// The squares on the field.
    pub grass: [u8; 3],
}

impl CarRacingColors {
    /// Those of an environment that does not draw any.
    pub(super) fn regular() -> Self {
        Self::new([102.0; 3], [102.0, 204.0, 102.0], [102.0, 230.0, 102.0])
    }

    /// Draws colours as Gymnasium's `domain_randomize` does.
    pub(super) fn draw(rng: &mut NumpyRng) -> Self {
        let mut three = || std::array::from_fn(|_| rng.uniform(0.0, DRAWN));
        let (road, field): ([f64; 3], [f64; 3]) = (three(), three());
        let mut grass = field;
        grass[rng.integers(3) as usize] += GRASS;
        Self::new(road, field, grass)
    }

    fn new(road: [f64; 3], field: [f64; 3], grass: [f64; 3]) -> Self {
        let bytes = |color: [f64; 3]| color.map(|c| c as u8);
        // Gymnasium adds 1% of white to every second tile in three, 2% to every third.
        let shade = |i: u8| bytes(road.map(|c| c + 0.01 * f64::from(i) * 255.0));
        Self {
            road: bytes(road),
            shades: [shade(0), shade(1), shade(2)],
            field: bytes(field),
            grass: bytes(grass),
        }
    }
}
