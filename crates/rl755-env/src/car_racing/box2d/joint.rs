//! The revolute joint of Box2D 2.3: a pin with a motor and angle limits.

use super::{
    body::Body,
    math::{Rot, Vec2, scalar_cross},
    solver::{ANGULAR_SLOP, LINEAR_SLOP, MAX_ANGULAR_CORRECTION},
};

/// Which limit of its angle a joint is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Between the limits.
    #[default]
    Inactive,
    /// At or below the lower one.
    Lower,
    /// At or above the upper one.
    Upper,
}

/// A joint that pins the origin of a body to a point of the hull.
#[derive(Clone, Debug)]
pub(crate) struct RevoluteJoint {
    /// The pinned point in the hull's local coordinates.
    pub(crate) anchor: Vec2,
    /// Radians.
    pub(crate) lower: f32,
    /// Radians.
    pub(crate) upper: f32,
    pub(crate) max_motor_torque: f32,
    /// The speed the motor drives at, in radians per second.
    pub(crate) motor_speed: f32,
    pub(crate) limit: Limit,
    /// Accumulated over the iterations of a step and kept for the next.
    impulse: Impulse,
    motor_impulse: f32,
    geometry: Geometry,
}

/// An impulse at the pin and, at a limit, about it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Impulse {
    linear: Vec2,
    angular: f32,
}

/// What stays the same during a step's velocity iterations.
#[derive(Clone, Copy, Debug, Default)]
struct Geometry {
    arm_hull: Vec2,
    arm_wheel: Vec2,
    /// The effective mass matrix of Box2D, `K`, by its columns.
    ex: [f32; 3],
    ey: [f32; 3],
    ez: [f32; 3],
    /// One over the determinant of the upper left 2×2 block.
    inv_det22: f32,
    /// One over the determinant of `K`.
    inv_det33: f32,
    motor_mass: f32,
    max_motor_impulse: f32,
}

/// Velocity and mass of a body, as the velocity iterations see it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Motion {
    pub(super) linear: Vec2,
    pub(super) angular: f32,
    pub(super) inv_mass: f32,
    pub(super) inv_inertia: f32,
}

impl Motion {
    /// The bits of what changes.
    pub(super) fn bits(&self) -> [u32; 3] {
        [self.linear.x, self.linear.y, self.angular].map(f32::to_bits)
    }

    /// Adds an impulse that acts at `arm` from the centre of mass.
    fn push(&mut self, arm: Vec2, linear: Vec2, angular: f32) {
        self.linear = self.linear + linear.scaled(self.inv_mass);
        self.angular += self.inv_inertia * (arm.cross(linear) + angular);
    }

    /// Takes away an impulse that acts at `arm` from the centre of mass.
    fn pull(&mut self, arm: Vec2, linear: Vec2, angular: f32) {
        self.linear = self.linear - linear.scaled(self.inv_mass);
        self.angular -= self.inv_inertia * (arm.cross(linear) + angular);
    }
}

impl RevoluteJoint {
    /// A joint at rest.
    pub(crate) fn new(anchor: Vec2, lower: f32, upper: f32, max_motor_torque: f32) -> Self {
        Self {
            anchor,
            lower,
            upper,
            max_motor_torque,
            motor_speed: 0.0,
            limit: Limit::Inactive,
            impulse: Impulse::default(),
            motor_impulse: 0.0,
            geometry: Geometry::default(),
        }
    }

    /// `b2RevoluteJoint::InitVelocityConstraints`: sets the step's geometry and limit state and
    /// applies the last step's impulses, scaled by the ratio of the time steps.
    pub(super) fn initialize(
        &mut self,
        hull: &Body,
        wheel: &Body,
        motions: (&mut Motion, &mut Motion),
        time: StepTime,
    ) {
        let (m_a, m_b) = (hull.inv_mass, wheel.inv_mass);
        let (i_a, i_b) = (hull.inv_inertia, wheel.inv_inertia);
        let r_a = Rot::new(hull.angle).apply(self.anchor - hull.local_center);
        let r_b = Rot::new(wheel.angle).apply(Vec2::ZERO - wheel.local_center);

        let xx = m_a + m_b + r_a.y * r_a.y * i_a + r_b.y * r_b.y * i_b;
        let xy = -r_a.y * r_a.x * i_a - r_b.y * r_b.x * i_b;
        let xz = -r_a.y * i_a - r_b.y * i_b;
        let yy = m_a + m_b + r_a.x * r_a.x * i_a + r_b.x * r_b.x * i_b;
        let yz = r_a.x * i_a + r_b.x * i_b;
        let zz = i_a + i_b;
        let (ex, ey, ez) = ([xx, xy, xz], [xy, yy, yz], [xz, yz, zz]);
        self.geometry = Geometry {
            arm_hull: r_a,
            arm_wheel: r_b,
            ex,
            ey,
            ez,
            inv_det22: inverse_or_zero(xx * yy - xy * xy),
            inv_det33: inverse_or_zero(dot3(ex, cross3(ey, ez))),
            motor_mass: 1.0 / zz,
            max_motor_impulse: time.step * self.max_motor_torque,
        };

        let angle = wheel.angle - hull.angle;
        let limit = if angle <= self.lower {
            Limit::Lower
        } else if angle >= self.upper {
            Limit::Upper
        } else {
            Limit::Inactive
        };
        if limit == Limit::Inactive || limit != self.limit {
            self.impulse.angular = 0.0;
        }
        self.limit = limit;

        self.impulse.linear = self.impulse.linear.scaled(time.ratio);
        self.impulse.angular *= time.ratio;
        self.motor_impulse *= time.ratio;
        let Impulse { linear, angular } = self.impulse;
        let (hull, wheel) = motions;
        hull.linear = hull.linear - linear.scaled(m_a);
        hull.angular -= i_a * (r_a.cross(linear) + self.motor_impulse + angular);
        wheel.linear = wheel.linear + linear.scaled(m_b);
        wheel.angular += i_b * (r_b.cross(linear) + self.motor_impulse + angular);
    }

    /// `b2RevoluteJoint::SolveVelocityConstraints`: one iteration, motor first.
    #[inline(always)]
    pub(super) fn solve_velocity(&mut self, hull: &mut Motion, wheel: &mut Motion) {
        let g = &self.geometry;
        let drift = wheel.angular - hull.angular - self.motor_speed;
        let wanted = self.motor_impulse + -g.motor_mass * drift;
        let kept = clamp(wanted, -g.max_motor_impulse, g.max_motor_impulse);
        let impulse = kept - self.motor_impulse;
        self.motor_impulse = kept;
        hull.angular -= hull.inv_inertia * impulse;
        wheel.angular += wheel.inv_inertia * impulse;

        let slip = wheel.linear + scalar_cross(wheel.angular, g.arm_wheel)
            - hull.linear
            - scalar_cross(hull.angular, g.arm_hull);
        if self.limit == Limit::Inactive {
            let linear = g.solve22(-slip);
            self.impulse.linear = self.impulse.linear + linear;
            hull.linear = hull.linear - linear.scaled(hull.inv_mass);
            hull.angular -= hull.inv_inertia * g.arm_hull.cross(linear);
            wheel.linear = wheel.linear + linear.scaled(wheel.inv_mass);
            wheel.angular += wheel.inv_inertia * g.arm_wheel.cross(linear);
        } else {
            self.solve_velocity_at_limit(slip, hull, wheel);
        }
    }

    /// The part of a velocity iteration that keeps a joint from leaving its limit, too.
    fn solve_velocity_at_limit(&mut self, slip: Vec2, hull: &mut Motion, wheel: &mut Motion) {
        let g = self.geometry;
        let solution = g.solve33([slip.x, slip.y, wheel.angular - hull.angular]);
        let mut step =
            Impulse { linear: Vec2::new(-solution[0], -solution[1]), angular: -solution[2] };
        let angular = self.impulse.angular + step.angular;
        let pulls = match self.limit {
            Limit::Lower => angular < 0.0,
            Limit::Upper => angular > 0.0,
            Limit::Inactive => false,
        };
        if pulls {
            // A limit only pushes: give back all it has and solve for the pin alone.
            let rhs = -slip + Vec2::new(g.ez[0], g.ez[1]).scaled(self.impulse.angular);
            step = Impulse { linear: g.solve22(rhs), angular: -self.impulse.angular };
            self.impulse.linear = self.impulse.linear + step.linear;
            self.impulse.angular = 0.0;
        } else {
            self.impulse.linear = self.impulse.linear + step.linear;
            self.impulse.angular += step.angular;
        }
        hull.pull(g.arm_hull, step.linear, step.angular);
        wheel.push(g.arm_wheel, step.linear, step.angular);
    }

    /// The bits of the accumulated impulses.
    pub(super) fn bits(&self) -> [u32; 4] {
        let Impulse { linear, angular } = self.impulse;
        [linear.x, linear.y, angular, self.motor_impulse].map(f32::to_bits)
    }

    /// `b2RevoluteJoint::SolvePositionConstraints`: one iteration on centres and angles; whether
    /// the joint was within its tolerances.
    pub(super) fn solve_position(&self, hull: &mut Body, wheel: &mut Body) -> bool {
        let (m_a, m_b) = (hull.inv_mass, wheel.inv_mass);
        let (i_a, i_b) = (hull.inv_inertia, wheel.inv_inertia);
        let mut angular_error = 0.0;
        if self.limit != Limit::Inactive {
            let angle = wheel.angle - hull.angle;
            let correction = match self.limit {
                Limit::Lower => {
                    let c = angle - self.lower;
                    angular_error = -c;
                    clamp(c + ANGULAR_SLOP, -MAX_ANGULAR_CORRECTION, 0.0)
                }
                _ => {
                    let c = angle - self.upper;
                    angular_error = c;
                    clamp(c - ANGULAR_SLOP, 0.0, MAX_ANGULAR_CORRECTION)
                }
            };
            let impulse = -self.geometry.motor_mass * correction;
            hull.angle -= i_a * impulse;
            wheel.angle += i_b * impulse;
        }

        let r_a = Rot::new(hull.angle).apply(self.anchor - hull.local_center);
        let r_b = Rot::new(wheel.angle).apply(Vec2::ZERO - wheel.local_center);
        let gap = wheel.center + r_b - hull.center - r_a;
        let position_error = gap.length();

        let xx = m_a + m_b + i_a * r_a.y * r_a.y + i_b * r_b.y * r_b.y;
        let xy = -i_a * r_a.x * r_a.y - i_b * r_b.x * r_b.y;
        let yy = m_a + m_b + i_a * r_a.x * r_a.x + i_b * r_b.x * r_b.x;
        let inv_det = inverse_or_zero(xx * yy - xy * xy);
        let impulse =
            -Vec2::new(inv_det * (yy * gap.x - xy * gap.y), inv_det * (xx * gap.y - xy * gap.x));
        hull.center = hull.center - impulse.scaled(m_a);
        hull.angle -= i_a * r_a.cross(impulse);
        wheel.center = wheel.center + impulse.scaled(m_b);
        wheel.angle += i_b * r_b.cross(impulse);

        position_error <= LINEAR_SLOP && angular_error <= ANGULAR_SLOP
    }
}

/// The length of a step in seconds, and its ratio to the world's previous one.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepTime {
    pub(super) step: f32,
    pub(super) ratio: f32,
}

impl Geometry {
    /// Solves for the pin alone.
    #[inline(always)]
    fn solve22(&self, b: Vec2) -> Vec2 {
        Vec2::new(
            self.inv_det22 * (self.ey[1] * b.x - self.ey[0] * b.y),
            self.inv_det22 * (self.ex[0] * b.y - self.ex[1] * b.x),
        )
    }

    /// Solves for the pin and the limit together.
    fn solve33(&self, b: [f32; 3]) -> [f32; 3] {
        let Self { ex, ey, ez, inv_det33, .. } = *self;
        [
            inv_det33 * dot3(b, cross3(ey, ez)),
            inv_det33 * dot3(ex, cross3(b, ez)),
            inv_det33 * dot3(ex, cross3(ey, b)),
        ]
    }
}

/// `b2Clamp`, which unlike `f32::clamp` prefers `low` to an equal value.
#[inline(always)]
fn clamp(value: f32, low: f32, high: f32) -> f32 {
    let value = if value < high { value } else { high };
    if low > value { low } else { value }
}

fn inverse_or_zero(determinant: f32) -> f32 {
    if determinant == 0.0 { determinant } else { 1.0 / determinant }
}

fn dot3(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross3(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
