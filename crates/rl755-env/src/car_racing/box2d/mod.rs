//! The part of Box2D 2.3 (as in pybox2d 2.3.10) that CarRacing needs, with the same bits: dynamic
//! polygons pinned to a hull by revolute joints, sleep, and sensors that touch or do not.
//!
//! All in `f32`; each sum and product is in the order of the C++ source.

pub(crate) mod body;
pub(crate) mod distance;
pub(crate) mod joint;
pub(crate) mod math;
pub(crate) mod polygon;
pub(crate) mod solver;
