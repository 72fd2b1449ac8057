//! What one picture of CarRacing shows: the seam between the dynamics and the drawing.

use super::{car::Car, episode::Episode, road::RoadPolygon};

/// Everything that one picture shows, in the world's metres (y up).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    /// How far the first second's zoom has come, 0 to 1 (0.02 in the picture that `reset`
    /// returns).
    pub(crate) zoom: f64,
    /// The sum of rewards to print: with this step's tiles, without this step's -0.1.
    pub(crate) score: f64,
    /// Tiles and kerbs in the order of drawing.
    pub(crate) road: &'a [RoadPolygon],
    /// Red, green, blue of the field.
    pub(crate) field_color: [u8; 3],
    /// Red, green, blue of the squares on the field.
    pub(crate) grass_color: [u8; 3],
    /// Hull and wheels; the camera follows the hull, the indicators show speeds and angles.
    pub(crate) car: &'a Car,
}

impl<'a> Scene<'a> {
    /// The scene at the end of a step.
    pub(crate) fn new(episode: &'a Episode) -> Self {
        Self {
            zoom: if episode.skip_zoom { 1.0 } else { episode.time.min(1.0) },
            score: episode.shown_reward,
            road: &episode.road.polygons,
            field_color: episode.colors.field,
            grass_color: episode.colors.grass,
            car: &episode.car,
        }
    }
}
