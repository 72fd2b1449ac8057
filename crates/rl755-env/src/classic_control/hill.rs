//! What the mountain cars share: the valley, its bounds and its picture.

use super::{
    canvas::{BLACK, Canvas, Color, Point, whole_pixels},
    rotate,
};
use crate::{RgbFrame, Space};

/// The wall at the left.
pub(super) const MIN_POSITION: f64 = -1.2;
/// The right end of the track, beyond the goal.
pub(super) const MAX_POSITION: f64 = 0.6;
/// The greatest speed, per step.
pub(super) const MAX_SPEED: f64 = 0.07;
/// By how much the steepest slope accelerates in a step.
pub(super) const GRAVITY: f64 = 0.0025;
/// The first position is uniform between these.
pub(super) const START: [f64; 2] = [-0.6, -0.4];
/// Width and height of the picture in pixels.
const PICTURE: [usize; 2] = [600, 400];
const WHEEL_COLOR: Color = [128, 128, 128];
const FLAG_COLOR: Color = [204, 204, 0];

/// Position and velocity.
pub(super) fn observation_space() -> Space {
    Space::Box {
        low: vec![MIN_POSITION as f32, -MAX_SPEED as f32],
        high: vec![MAX_POSITION as f32, MAX_SPEED as f32],
    }
}

/// The car in the valley, with the flag at the goal.
pub(super) fn draw(position: f64, goal: f64) -> RgbFrame {
    /// Points of the valley's outline.
    const POINTS: usize = 100;
    let [width, height] = PICTURE;
    let mut canvas = Canvas::new(width, height);
    let scale = width as f64 / (MAX_POSITION - MIN_POSITION);
    let ground = |x: f64| [(x - MIN_POSITION) * scale, (0.45 * (3.0 * x).sin() + 0.55) * scale];
    let outline: [Point; POINTS] = std::array::from_fn(|index| {
        let share = index as f64 / (POINTS - 1) as f64;
        ground(MIN_POSITION + share * (MAX_POSITION - MIN_POSITION))
    });
    canvas.line(&outline, 1.0, BLACK);
    let [x, y] = ground(position);
    let on_car = |point: Point| {
        let [dx, dy] = rotate(point, (3.0 * position).cos());
        [x + dx, y + 10.0 + dy]
    };
    let corners = [[-20.0, 0.0], [-20.0, 20.0], [20.0, 20.0], [20.0, 0.0]].map(on_car);
    canvas.polygon(whole_pixels(corners), BLACK);
    for wheel in whole_pixels([[10.0, 0.0], [-10.0, 0.0]].map(on_car)) {
        canvas.circle(wheel, 8.0, WHEEL_COLOR);
    }
    let [x, y] = ground(goal).map(f64::trunc);
    canvas.line(&[[x, y], [x, y + 50.0]], 1.0, BLACK);
    canvas.polygon([[x, y + 50.0], [x, y + 40.0], [x + 25.0, y + 45.0]], FLAG_COLOR);
    canvas.into_frame()
}
