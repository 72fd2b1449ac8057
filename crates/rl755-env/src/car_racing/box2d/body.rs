//! Dynamic rigid bodies.

use super::{
    math::{Rot, Transform, Vec2},
    polygon::Polygon,
};

/// A dynamic body made of polygons, without damping or gravity.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// The newest first, as Box2D lists a body's fixtures.
    pub(crate) polygons: Vec<Polygon>,
    pub(crate) inv_mass: f32,
    pub(crate) inv_inertia: f32,
    /// The centre of mass in local coordinates.
    pub(crate) local_center: Vec2,
    /// Where the body's origin is and how it is turned.
    pub(crate) transform: Transform,
    /// The centre of mass in the world.
    pub(crate) center: Vec2,
    /// Radians; grows without bound as the body turns.
    pub(crate) angle: f32,
    pub(crate) linear_velocity: Vec2,
    pub(crate) angular_velocity: f32,
    /// Force at the centre of mass until the next step.
    pub(crate) force: Vec2,
    /// For how long the body has hardly moved, in seconds.
    pub(crate) sleep_time: f32,
}

impl Body {
    /// A body at rest whose polygons are given as Gymnasium creates them, oldest first.
    pub(crate) fn new(
        position: [f64; 2],
        angle: f64,
        polygons: &[Vec<Vec2>],
        density: f32,
    ) -> Self {
        let polygons: Vec<_> = polygons.iter().rev().map(|p| Polygon::hull(p)).collect();
        let (mut mass, mut inertia, mut local_center) = (0.0f32, 0.0f32, Vec2::ZERO);
        for polygon in &polygons {
            let data = polygon.mass(density);
            mass += data.mass;
            local_center = local_center + data.center.scaled(data.mass);
            inertia += data.inertia;
        }
        let inv_mass = 1.0 / mass;
        let local_center = local_center.scaled(inv_mass);
        inertia -= mass * local_center.dot(local_center);

        let angle = angle as f32;
        let transform = Transform { position: Vec2::from_f64(position), rotation: Rot::new(angle) };
        Self {
            polygons,
            inv_mass,
            inv_inertia: 1.0 / inertia,
            local_center,
            transform,
            center: transform.apply(local_center),
            angle,
            linear_velocity: Vec2::ZERO,
            angular_velocity: 0.0,
            force: Vec2::ZERO,
            sleep_time: 0.0,
        }
    }

    /// A local direction in world coordinates.
    pub(crate) fn world_vector(&self, local: Vec2) -> Vec2 {
        self.transform.rotation.apply(local)
    }

    /// Brings the transform in line with the centre of mass and the angle.
    pub(super) fn synchronize_transform(&mut self) {
        self.transform.rotation = Rot::new(self.angle);
        self.transform.position = self.center - self.transform.rotation.apply(self.local_center);
    }
}
