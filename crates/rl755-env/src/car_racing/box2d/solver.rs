//! One car's island of Box2D 2.3 — a hull and what is pinned to it — and its step.

use std::f32::consts::PI;

use super::{
    body::Body,
    joint::{Motion, RevoluteJoint, StepTime},
    math::Vec2,
};

/// Position error of a joint that is good enough, in metres.
pub(super) const LINEAR_SLOP: f32 = 0.005;
/// Angular error that is good enough, in radians.
pub(super) const ANGULAR_SLOP: f32 = 2.0 / 180.0 * PI;
/// Most that one position iteration corrects, in radians.
pub(super) const MAX_ANGULAR_CORRECTION: f32 = 8.0 / 180.0 * PI;
/// Most that a body moves in a step, in metres.
const MAX_TRANSLATION: f32 = 2.0;
/// Most that a body turns in a step, in radians.
const MAX_ROTATION: f32 = 0.5 * PI;
/// Slower than this, a body is on its way to sleep (m/s and rad/s).
const LINEAR_SLEEP_TOLERANCE: f32 = 0.01;
const ANGULAR_SLEEP_TOLERANCE: f32 = 2.0 / 180.0 * PI;
/// Seconds of hardly moving after which the island sleeps.
const TIME_TO_SLEEP: f32 = 0.5;

/// How finely a world is stepped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepConfig {
    /// Seconds.
    pub(crate) time_step: f32,
    pub(crate) velocity_iterations: u32,
    pub(crate) position_iterations: u32,
}

/// A hull, the wheels pinned to it, and the joints in the order of the wheels.
#[derive(Clone, Debug)]
pub(crate) struct Island<const WHEELS: usize> {
    pub(crate) hull: Body,
    pub(crate) wheels: [Body; WHEELS],
    pub(crate) joints: [RevoluteJoint; WHEELS],
}

impl<const WHEELS: usize> Island<WHEELS> {
    /// `b2Island::Solve`, all bodies awake; clears the forces.
    ///
    /// `last_inv_time_step` is one over the world's previous time step, 0 before its first: the
    /// impulses kept from that step are scaled to this one's length.
    pub(crate) fn step(&mut self, config: StepConfig, last_inv_time_step: f32) {
        let h = config.time_step;
        for body in self.bodies() {
            let acceleration = Vec2::ZERO + body.force.scaled(body.inv_mass);
            body.linear_velocity = body.linear_velocity + acceleration.scaled(h);
            // Box2D adds the torque's part, zero, which turns -0 into 0.
            body.angular_velocity += 0.0;
        }
        self.solve_velocities(config, last_inv_time_step * h);
        for body in self.bodies() {
            integrate(body, h);
        }
        let solved = self.solve_positions(config.position_iterations);
        for body in self.bodies() {
            body.synchronize_transform();
            body.force = Vec2::ZERO;
        }
        self.sleep_if_still(h, solved);
    }

    fn bodies(&mut self) -> impl Iterator<Item = &mut Body> {
        std::iter::once(&mut self.hull).chain(&mut self.wheels)
    }

    fn solve_velocities(&mut self, config: StepConfig, ratio: f32) {
        let time = StepTime { step: config.time_step, ratio };
        let mut hull = motion(&self.hull);
        let mut wheels = self.wheels.each_ref().map(motion);
        // An island lists the newest joint first.
        for ((joint, body), wheel) in
            self.joints.iter_mut().zip(&self.wheels).zip(&mut wheels).rev()
        {
            joint.initialize(&self.hull, body, (&mut hull, wheel), time);
        }
        let mut left = config.velocity_iterations;
        let mut before = self.snapshot(&hull, &wheels);
        while left > 0 {
            left -= 1;
            for (joint, wheel) in self.joints.iter_mut().zip(&mut wheels).rev() {
                joint.solve_velocity(&mut hull, wheel);
            }
            if left.is_multiple_of(2) {
                // Often two iterations soon lead back, bit for bit, to where they began: then so
                // does every further pair, and half of the time is saved.
                let after = self.snapshot(&hull, &wheels);
                if after == before {
                    break;
                }
                before = after;
            }
        }
        for (body, motion) in self.bodies().zip(std::iter::once(hull).chain(wheels)) {
            body.linear_velocity = motion.linear;
            body.angular_velocity = motion.angular;
        }
    }

    /// The bits of all that a velocity iteration reads and changes.
    fn snapshot(&self, hull: &Motion, wheels: &[Motion; WHEELS]) -> ([u32; 3], [[u32; 7]; WHEELS]) {
        let pinned = std::array::from_fn(|i| {
            let ([a, b, c], [d, e, f, g]) = (wheels[i].bits(), self.joints[i].bits());
            [a, b, c, d, e, f, g]
        });
        (hull.bits(), pinned)
    }

    /// Iterates until all joints are within their tolerances; whether they came to be.
    fn solve_positions(&mut self, iterations: u32) -> bool {
        for _ in 0..iterations {
            let mut solved = true;
            for (joint, wheel) in self.joints.iter().zip(&mut self.wheels).rev() {
                solved &= joint.solve_position(&mut self.hull, wheel);
            }
            if solved {
                return true;
            }
        }
        false
    }

    /// Stops every body dead once all have hardly moved for [`TIME_TO_SLEEP`].
    ///
    /// Box2D then leaves them out of its steps until something wakes them; the car's motors do
    /// before every step, so that sleep shows only in these zeros.
    fn sleep_if_still(&mut self, h: f32, positions_solved: bool) {
        let mut still_for = f32::MAX;
        for body in self.bodies() {
            let (v, w) = (body.linear_velocity, body.angular_velocity);
            if w * w > ANGULAR_SLEEP_TOLERANCE * ANGULAR_SLEEP_TOLERANCE
                || v.dot(v) > LINEAR_SLEEP_TOLERANCE * LINEAR_SLEEP_TOLERANCE
            {
                body.sleep_time = 0.0;
                still_for = 0.0;
            } else {
                body.sleep_time += h;
                still_for = still_for.min(body.sleep_time);
            }
        }
        if still_for >= TIME_TO_SLEEP && positions_solved {
            for body in self.bodies() {
                body.sleep_time = 0.0;
                body.linear_velocity = Vec2::ZERO;
                body.angular_velocity = 0.0;
            }
        }
    }
}

fn motion(body: &Body) -> Motion {
    Motion {
        linear: body.linear_velocity,
        angular: body.angular_velocity,
        inv_mass: body.inv_mass,
        inv_inertia: body.inv_inertia,
    }
}

/// Moves a body by its velocity, which is first cut to what Box2D allows in one step.
fn integrate(body: &mut Body, h: f32) {
    let translation = body.linear_velocity.scaled(h);
    if translation.dot(translation) > MAX_TRANSLATION * MAX_TRANSLATION {
        let ratio = MAX_TRANSLATION / translation.length();
        body.linear_velocity = body.linear_velocity.scaled(ratio);
    }
    let rotation = h * body.angular_velocity;
    if rotation * rotation > MAX_ROTATION * MAX_ROTATION {
        body.angular_velocity *= MAX_ROTATION / rotation.abs();
    }
    body.center = body.center + body.linear_velocity.scaled(h);
    body.angle += h * body.angular_velocity;
}
