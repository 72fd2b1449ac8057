//! What one picture of CarRacing shows: the seam between the dynamics and the drawing.
//!
//! Lengths are metres, angles radians, speeds metres per second, in the world's coordinates
//! (y up). The drawing only reads; the dynamics fill a [`Scene`] at the end of every step.

use super::road::RoadPolygon;

/// Where a rigid body is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placement {
    /// The body's origin, not its centre of mass.
    pub(crate) position: [f32; 2],
    /// Sine and cosine of its angle, as the physics holds them.
    pub(crate) sin_cos: [f32; 2],
}

/// One wheel, in the order front left, front right, rear left, rear right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WheelView {
    /// Where it is.
    pub(crate) placement: Placement,
    /// How far it has rolled; moves the light mark on the tyre.
    pub(crate) phase: f64,
    /// Rolling speed in radians per second; the ABS bars show it.
    pub(crate) omega: f64,
}

/// Everything that one picture shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    /// Seconds since the start of the episode (0.02 in the picture that `reset` returns).
    pub(crate) seconds: f64,
    /// The sum of rewards to print: with this step's tiles, without this step's -0.1.
    pub(crate) score: f64,
    /// Tiles and kerbs in the order of drawing.
    pub(crate) road: &'a [RoadPolygon],
    /// Red, green, blue of the field.
    pub(crate) field_color: [u8; 3],
    /// Red, green, blue of the squares on the field.
    pub(crate) grass_color: [u8; 3],
    /// Where the hull is; the camera follows it.
    pub(crate) hull: Placement,
    /// The hull's angle, as the physics holds it (not wrapped).
    pub(crate) hull_angle: f32,
    /// The velocity of the hull's centre of mass.
    pub(crate) velocity: [f32; 2],
    /// The hull's angular velocity; the gyroscope bar shows it.
    pub(crate) angular_velocity: f32,
    /// The four wheels.
    pub(crate) wheels: [WheelView; 4],
    /// The angle of wheel 0's joint; the steering bar shows it.
    pub(crate) steering_angle: f32,
}

/// Red, green, blue of the field, unless colours are randomised.
pub(crate) const FIELD_COLOR: [u8; 3] = [102, 204, 102];

/// Red, green, blue of the squares on the field, unless colours are randomised.
pub(crate) const GRASS_COLOR: [u8; 3] = [102, 230, 102];
