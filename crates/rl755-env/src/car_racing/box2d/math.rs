//! Vectors, rotations and transforms in single precision, in Box2D's order of operations.
//!
//! Rust never contracts `a * b + c` into a fused multiply-add, and `f32::sin` is the system
//! library's `sinf`, so these give the bits that Box2D's C++ gives.

use std::ops::{Add, Neg, Sub};

/// A vector in metres, or a velocity, force or impulse.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Vec2 {
    pub(crate) x: f32,
    pub(crate) y: f32,
}

impl Vec2 {
    /// The zero vector.
    pub(crate) const ZERO: Self = Self { x: 0.0, y: 0.0 };

    pub(crate) fn new(x: f32, y: f32) -> Self {
        Self { x, y }
    }

    /// Rounds double precision to single, as pybox2d does with every pair it is given.
    pub(crate) fn from_f64([x, y]: [f64; 2]) -> Self {
        Self { x: x as f32, y: y as f32 }
    }

    pub(crate) fn scaled(self, s: f32) -> Self {
        Self { x: s * self.x, y: s * self.y }
    }

    pub(crate) fn dot(self, other: Self) -> f32 {
        self.x * other.x + self.y * other.y
    }

    /// The third component of the cross product.
    pub(crate) fn cross(self, other: Self) -> f32 {
        self.x * other.y - self.y * other.x
    }

    /// The vector times a scalar, in the sense of a cross product with the third axis.
    pub(crate) fn cross_scalar(self, s: f32) -> Self {
        Self { x: s * self.y, y: -s * self.x }
    }

    pub(crate) fn length_squared(self) -> f32 {
        self.x * self.x + self.y * self.y
    }

    pub(crate) fn length(self) -> f32 {
        self.length_squared().sqrt()
    }
}

/// A scalar times a vector, in the sense of a cross product with the third axis: the velocity of
/// the point `v` of a body that turns at `s`.
pub(crate) fn scalar_cross(s: f32, v: Vec2) -> Vec2 {
    Vec2 { x: -s * v.y, y: s * v.x }
}

impl Add for Vec2 {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y }
    }
}

impl Sub for Vec2 {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y }
    }
}

impl Neg for Vec2 {
    type Output = Self;
    fn neg(self) -> Self {
        Self { x: -self.x, y: -self.y }
    }
}

/// A rotation by its sine and cosine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rot {
    pub(crate) sin: f32,
    pub(crate) cos: f32,
}

impl Rot {
    /// No rotation.
    pub(crate) const IDENTITY: Self = Self { sin: 0.0, cos: 1.0 };

    pub(crate) fn new(angle: f32) -> Self {
        Self { sin: angle.sin(), cos: angle.cos() }
    }

    pub(crate) fn apply(self, v: Vec2) -> Vec2 {
        Vec2 { x: self.cos * v.x - self.sin * v.y, y: self.sin * v.x + self.cos * v.y }
    }

    pub(crate) fn apply_inverse(self, v: Vec2) -> Vec2 {
        Vec2 { x: self.cos * v.x + self.sin * v.y, y: -self.sin * v.x + self.cos * v.y }
    }
}

/// Where a body is: local coordinates are rotated, then moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Transform {
    pub(crate) position: Vec2,
    pub(crate) rotation: Rot,
}

impl Transform {
    /// World coordinates equal local ones.
    pub(crate) const IDENTITY: Self = Self { position: Vec2::ZERO, rotation: Rot::IDENTITY };

    pub(crate) fn apply(self, v: Vec2) -> Vec2 {
        self.rotation.apply(v) + self.position
    }
}
