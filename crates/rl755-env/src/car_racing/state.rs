//! What can be known of the car besides the picture: for tests, teachers and diagnostics.

use super::{
    box2d::body::Body,
    car::{Car, WHEELS},
    episode::Episode,
};

/// Where a body is and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyState {
    /// The body's origin, x and y, in metres.
    pub position: [f32; 2],
    /// Radians, counter-clockwise; not reduced to one turn.
    pub angle: f32,
    /// Velocity of the centre of mass, in metres per second.
    pub linear_velocity: [f32; 2],
    /// Radians per second.
    pub angular_velocity: f32,
}

/// A wheel and what drives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WheelState {
    /// The wheel as a rigid body.
    pub body: BodyState,
    /// How far the wheel is turned against the hull, in radians.
    pub joint_angle: f32,
    /// Angular velocity of rolling, in radians per second.
    pub omega: f64,
    /// How far the wheel has rolled, in radians.
    pub phase: f64,
    /// Gas that has reached the wheel, 0 to 1.
    pub gas: f64,
    /// Road tiles that the wheel touches; none on grass.
    pub tiles: usize,
}

/// The state of an episode of [`CarRacing`](super::CarRacing), track excepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarRacingState {
    /// The car's body.
    pub hull: BodyState,
    /// Front left, front right, rear left, rear right.
    pub wheels: [WheelState; WHEELS],
    /// Seconds since the episode began.
    pub time: f64,
    /// Rewards so far, without the -100 for leaving the field.
    pub reward: f64,
    /// Tiles that wheels have touched.
    pub tiles_visited: usize,
}

impl CarRacingState {
    pub(super) fn new(episode: &Episode) -> Self {
        let Episode { car, road, time, reward, .. } = episode;
        Self {
            hull: BodyState::new(&car.bodies.hull),
            wheels: std::array::from_fn(|i| wheel(car, i, road.tiles_under_wheel(i))),
            time: *time,
            reward: *reward,
            tiles_visited: road.visited(),
        }
    }
}

impl BodyState {
    fn new(body: &Body) -> Self {
        let (p, v) = (body.transform.position, body.linear_velocity);
        Self {
            position: [p.x, p.y],
            angle: body.angle,
            linear_velocity: [v.x, v.y],
            angular_velocity: body.angular_velocity,
        }
    }
}

fn wheel(car: &Car, i: usize, tiles: usize) -> WheelState {
    let wheel = &car.wheels[i];
    WheelState {
        body: BodyState::new(&car.bodies.wheels[i]),
        joint_angle: car.joint_angle(i),
        omega: wheel.omega,
        phase: wheel.phase,
        gas: wheel.gas,
        tiles,
    }
}
