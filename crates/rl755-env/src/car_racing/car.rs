//! The car: its shape, steering, engine, brakes and tyres, after Gymnasium's `car_dynamics.py`.

use super::{
    box2d::{
        body::Body,
        joint::RevoluteJoint,
        math::Vec2,
        solver::{Island, StepConfig},
    },
    road::Road,
    sign,
    skids::Skids,
    track::TrackPoint,
};

/// Front left, front right, rear left, rear right.
pub(crate) const WHEELS: usize = 4;
/// Steps per second.
pub(crate) const FPS: f64 = 50.0;

/// World units per unit of the car's design.
pub(crate) const SIZE: f64 = 0.02;
const ENGINE_POWER: f64 = 100_000_000.0 * SIZE * SIZE;
const WHEEL_MOMENT_OF_INERTIA: f64 = 4000.0 * SIZE * SIZE;
/// Force that a tyre on the road bears before it slides.
const FRICTION_LIMIT: f64 = 1_000_000.0 * SIZE * SIZE;
/// Half of a wheel's length, in design units.
pub(crate) const WHEEL_R: f64 = 27.0;
/// Half of a wheel's width, in design units.
pub(crate) const WHEEL_W: f64 = 14.0;
const WHEEL_RADIUS: f64 = WHEEL_R * SIZE;
/// Radians per second that a fully pressed brake takes off a wheel in a step.
const BRAKE_FORCE: f64 = 15.0;
/// Damps the tyre forces so that they do not oscillate.
const FORCE_GAIN: f64 = 205_000.0 * SIZE * SIZE;
/// Radians that a wheel can turn to either side.
const STEER_LIMIT: f32 = 0.4;
const MAX_MOTOR_TORQUE: f64 = 180.0 * 900.0 * SIZE * SIZE;

const WHEEL_POSITIONS: [[f64; 2]; WHEELS] =
    [[-55.0, 80.0], [55.0, 80.0], [-55.0, -82.0], [55.0, -82.0]];
const WHEEL_POLYGON: [[f64; 2]; 4] =
    [[-WHEEL_W, WHEEL_R], [WHEEL_W, WHEEL_R], [WHEEL_W, -WHEEL_R], [-WHEEL_W, -WHEEL_R]];
const HULL_POLYGONS: [&[[f64; 2]]; 4] = [
    &[[-60.0, 130.0], [60.0, 130.0], [60.0, 110.0], [-60.0, 110.0]],
    &[[-15.0, 120.0], [15.0, 120.0], [20.0, 20.0], [-20.0, 20.0]],
    &[
        [25.0, 20.0],
        [50.0, -10.0],
        [50.0, -40.0],
        [20.0, -90.0],
        [-20.0, -90.0],
        [-50.0, -40.0],
        [-50.0, -10.0],
        [-25.0, 20.0],
    ],
    &[[-50.0, -120.0], [50.0, -120.0], [50.0, -90.0], [-50.0, -90.0]],
];

/// Hull, wheels and joints.
pub(crate) type CarBodies = Island<WHEELS>;

/// What drives a wheel, besides its body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wheel {
    /// 0 to 1.
    pub(crate) gas: f64,
    /// From 0.9 on the wheel is locked.
    pub(crate) brake: f64,
    /// The angle the wheel is to turn to, in radians; left is positive.
    pub(crate) steer: f64,
    /// How far the wheel has rolled, in radians.
    pub(crate) phase: f64,
    /// Angular velocity of rolling, in radians per second.
    pub(crate) omega: f64,
}

/// The car of one episode.
#[derive(Clone, Debug)]
pub(crate) struct Car {
    pub(crate) bodies: CarBodies,
    pub(crate) wheels: [Wheel; WHEELS],
    pub(crate) skids: Skids,
}

impl Car {
    /// A car at rest at a track point, heading along the track.
    pub(crate) fn new(start: &TrackPoint) -> Self {
        let scaled = |points: &[[f64; 2]]| -> Vec<Vec2> {
            points.iter().map(|p| Vec2::from_f64(p.map(|c| c * SIZE))).collect()
        };
        let offsets = WHEEL_POSITIONS.map(|p| p.map(|c| c * SIZE));
        let hull = Body::new([start.x, start.y], start.beta, &HULL_POLYGONS.map(scaled), 1.0);
        // The offset is not turned with the car; the joint pulls the wheel in on the first step.
        let wheels = offsets.map(|[x, y]| {
            let shape = [scaled(&WHEEL_POLYGON)];
            Body::new([start.x + x, start.y + y], start.beta, &shape, 0.1)
        });
        let joints = offsets.map(|offset| {
            let anchor = Vec2::from_f64(offset);
            RevoluteJoint::new(anchor, -STEER_LIMIT, STEER_LIMIT, MAX_MOTOR_TORQUE as f32)
        });
        Self {
            bodies: Island { hull, wheels, joints },
            wheels: Default::default(),
            skids: Skids::new(),
        }
    }

    /// Sets steering, gas and brake as an action does.
    pub(crate) fn control(&mut self, [steer, gas, brake]: [f64; 3]) {
        for wheel in &mut self.wheels[..2] {
            wheel.steer = -steer;
        }
        for wheel in &mut self.wheels[2..] {
            // Gas comes on gradually but goes off at once.
            let wanted = gas.clamp(0.0, 1.0) - wheel.gas;
            wheel.gas += wanted.min(0.1);
        }
        for wheel in &mut self.wheels {
            wheel.brake = brake;
        }
    }

    /// Turns the wheels' motors, spins the wheels and puts the tyres' forces on their bodies.
    pub(crate) fn drive(&mut self, road: &Road) {
        for i in 0..WHEELS {
            let angle = f64::from(self.joint_angle(i));
            let wheel = &mut self.wheels[i];
            let error = wheel.steer - angle;
            self.bodies.joints[i].motor_speed =
                (sign(error) * (50.0 * error.abs()).min(3.0)) as f32;
            let on_grass = road.tiles_under_wheel(i) == 0;
            let friction_limit = if on_grass { FRICTION_LIMIT * 0.6 } else { FRICTION_LIMIT };
            let body = &mut self.bodies.wheels[i];
            let (force, grip) = wheel.roll(body, friction_limit);
            body.force = body.force + force;
            match grip {
                Grip::Holds => self.skids.hold(i),
                Grip::Slides => self.skids.slide(i, body.transform.position, on_grass),
            }
        }
    }

    /// Advances the bodies by one step; see [`Island::step`].
    pub(crate) fn advance(&mut self, last_inv_time_step: f32) {
        self.bodies.step(STEP, last_inv_time_step);
    }

    /// How far wheel `i` is turned, in radians.
    pub(crate) fn joint_angle(&self, i: usize) -> f32 {
        self.bodies.wheels[i].angle - self.bodies.hull.angle
    }
}

/// How Gymnasium steps the world.
const STEP: StepConfig = StepConfig {
    time_step: (1.0 / FPS) as f32,
    velocity_iterations: 6 * 30,
    position_iterations: 2 * 30,
};
/// One over the time step, as the world keeps it for its next step.
pub(crate) const INV_TIME_STEP: f32 = 1.0 / STEP.time_step;

/// Whether a tyre leaves a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grip {
    Holds,
    Slides,
}

impl Wheel {
    /// One step of engine, brake and tyre; the force on the wheel's body.
    fn roll(&mut self, body: &Body, friction_limit: f64) -> (Vec2, Grip) {
        const DT: f64 = 1.0 / FPS;
        let wide = |v: Vec2| [f64::from(v.x), f64::from(v.y)];
        let forward = wide(body.world_vector(Vec2::new(0.0, 1.0)));
        let side = wide(body.world_vector(Vec2::new(1.0, 0.0)));
        let velocity = wide(body.linear_velocity);
        let forward_speed = forward[0] * velocity[0] + forward[1] * velocity[1];
        let side_speed = side[0] * velocity[0] + side[1] * velocity[1];

        // The engine gives power; 5 keeps a standing wheel's acceleration finite.
        self.omega +=
            DT * ENGINE_POWER * self.gas / WHEEL_MOMENT_OF_INERTIA / (self.omega.abs() + 5.0);
        if self.brake >= 0.9 {
            self.omega = 0.0;
        } else if self.brake > 0.0 {
            let slowed = (BRAKE_FORCE * self.brake).min(self.omega.abs());
            self.omega += -sign(self.omega) * slowed;
        }
        self.phase += self.omega * DT;

        let mut along = -forward_speed + self.omega * WHEEL_RADIUS;
        let mut across = -side_speed;
        along *= FORCE_GAIN;
        across *= FORCE_GAIN;
        let force = (along * along + across * across).sqrt();
        let grip = if force > 2.0 * friction_limit { Grip::Slides } else { Grip::Holds };
        if force > friction_limit {
            along = along / force * friction_limit;
            across = across / force * friction_limit;
        }
        self.omega -= DT * along * WHEEL_RADIUS / WHEEL_MOMENT_OF_INERTIA;
        let force = Vec2::from_f64([
            across * side[0] + along * forward[0],
            across * side[1] + along * forward[1],
        ]);
        (force, grip)
    }
}
