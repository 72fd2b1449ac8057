//! Environments that can be drawn in three dimensions: their shapes, and where these are.

/// What an environment in three dimensions is made of, for those who draw it elsewhere.
///
/// Lengths are in metres, and z points upwards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// What is drawn, in the order of [`Scene3d::poses`].
    pub geoms: Vec<Geom>,
    /// From where one may look; the first is the usual one.
    pub cameras: Vec<Camera>,
    /// The geom that a following camera keeps in its middle.
    pub followed: usize,
}

/// A rigid shape with a colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Geom {
    /// Empty where it has none.
    pub name: String,
    /// Its shape and size.
    pub shape: Shape,
    /// Red, green, blue and opacity, each in 0..1.
    pub rgba: [f32; 4],
    /// Whether it has squares of two shades, as a floor has.
    pub checkered: bool,
}

/// A shape about its own origin, with its sizes as in MuJoCo's `geom`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// In x and y, with its face towards z; a half length of 0 has no end.
    Plane {
        /// Half of the length in x and in y.
        half: [f32; 2],
    },
    /// A ball.
    Sphere {
        /// Its radius.
        radius: f32,
    },
    /// A cylinder along z that ends in two half balls.
    Capsule {
        /// Its radius.
        radius: f32,
        /// Half of the length of the cylinder, without the balls.
        half_length: f32,
    },
    /// A stretched ball.
    Ellipsoid {
        /// Its radii in x, y and z.
        radii: [f32; 3],
    },
    /// A cylinder along z.
    Cylinder {
        /// Its radius.
        radius: f32,
        /// Half of its length.
        half_length: f32,
    },
    /// A box.
    Box {
        /// Half of its lengths in x, y and z.
        half: [f32; 3],
    },
}

/// From where one looks at a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// What it is called on a button.
    pub name: String,
    /// The point in the middle, or where that is relative to the followed geom.
    pub lookat: [f32; 3],
    /// How far away it is.
    pub distance: f32,
    /// Where it looks, in degrees about z: 0 looks along x, 90 along y.
    pub azimuth: f32,
    /// How far it looks upwards, in degrees; below 0 it looks down.
    pub elevation: f32,
    /// Whether it goes along with the followed geom.
    pub follows: bool,
}

/// An environment in three dimensions; see [`Env::scene`](crate::Env::scene).
pub trait Scene3d {
    /// What it is made of; the same for all episodes.
    fn scene(&self) -> &Scene;

    /// Where the geoms are now: for each its position and then its rotation as a quaternion
    /// `[w, x, y, z]`. What was in `poses` is cleared.
    fn poses(&self, poses: &mut Vec<[f32; 7]>);

    /// Seconds that a step takes in the simulation, so that it can be shown at its own speed.
    fn step_seconds(&self) -> f64 {
        0.05
    }

    /// What a viewer of the same model needs to show the same state, in MuJoCo's terms positions
    /// `qpos` and velocities `qvel` one after the other; nothing from others.
    fn physics_state(&self) -> Vec<f64> {
        Vec::new()
    }
}
