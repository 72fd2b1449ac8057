//! What of the car is seen: polygons in pixels of Gymnasium's window, in the order of drawing.

use super::{
    super::{
        box2d::{body::Body, math::Vec2},
        car::{Car, SIZE, WHEEL_R, WHEEL_W, Wheel},
        sign,
    },
    camera::{Camera, WindowPoint},
};

/// The light mark covers this much of a turn of the wheel, in radians.
const MARK_ANGLE: f64 = 1.2;

/// The parts of the car.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub(super) enum Paint {
    Tyre = 1,
    TyreMark = 2,
    Hull = 3,
}

impl Paint {
    /// Red, green, blue.
    pub(super) fn color(self) -> [u8; 3] {
        match self {
            Self::Tyre => [0; 3],
            Self::TyreMark => [77; 3],
            Self::Hull => [204, 0, 0],
        }
    }
}

/// Hands the wheels, and then the hull, to `polygon`.
pub(super) fn draw_car(camera: &Camera, car: &Car, mut polygon: impl FnMut(&[WindowPoint], Paint)) {
    for (body, wheel) in car.bodies.wheels.iter().zip(&car.wheels) {
        draw_body(camera, body, |corners| polygon(corners, Paint::Tyre));
        if let Some(mark) = tyre_mark(wheel) {
            polygon(&mark.map(|v| on_window(camera, body, v)), Paint::TyreMark);
        }
    }
    draw_body(camera, &car.bodies.hull, |corners| polygon(corners, Paint::Hull));
}

fn draw_body(camera: &Camera, body: &Body, mut polygon: impl FnMut(&[WindowPoint])) {
    for shape in &body.polygons {
        let mut corners = [[0; 2]; 8];
        let vertices = shape.vertices();
        for (corner, vertex) in corners.iter_mut().zip(vertices) {
            *corner = on_window(camera, body, *vertex);
        }
        polygon(&corners[..vertices.len()]);
    }
}

/// A point of a body, in the window.
fn on_window(camera: &Camera, body: &Body, vertex: Vec2) -> WindowPoint {
    let point = body.transform.apply(vertex);
    camera.project([f64::from(point.x), f64::from(point.y)])
}

/// The corners of the light mark on a tyre, unless it is on the side that cannot be seen.
fn tyre_mark(wheel: &Wheel) -> Option<[Vec2; 4]> {
    let ((s1, mut c1), (s2, mut c2)) =
        (wheel.phase.sin_cos(), (wheel.phase + MARK_ANGLE).sin_cos());
    if s1 > 0.0 && s2 > 0.0 {
        return None;
    }
    if s1 > 0.0 {
        c1 = sign(c1);
    }
    if s2 > 0.0 {
        c2 = sign(c2);
    }
    let corner = |side: f64, c: f64| Vec2::from_f64([side * WHEEL_W * SIZE, WHEEL_R * c * SIZE]);
    Some([corner(-1.0, c1), corner(1.0, c1), corner(1.0, c2), corner(-1.0, c2)])
}
