//! Where things of the world lie in Gymnasium's window.

use super::super::scene::Scene;

/// Width of Gymnasium's window.
pub(super) const WINDOW_WIDTH: f64 = 1000.0;
/// Height of Gymnasium's window.
pub(super) const WINDOW_HEIGHT: f64 = 800.0;
/// Height of the window's lower part, which the indicators hide.
const PANEL_HEIGHT: f64 = WINDOW_HEIGHT / 8.0;
/// Pixels per metre in the first moment.
const FAR_ZOOM: f64 = 0.1 * 6.0;
/// Pixels per metre from the end of the first second on.
const NEAR_ZOOM: f64 = 2.7 * 6.0;

/// A point in pixels of the window before it is flipped: x to the right, y up.
pub(super) type WindowPoint = [i32; 2];

/// The view of one picture: the car's hull in the lower middle, heading up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Camera {
    sin: f64,
    cos: f64,
    /// Pixels per metre.
    zoom: f64,
    shift: [f64; 2],
    /// The middle of the visible part of the world.
    pub(super) center: [f64; 2],
    /// How far from `center` anything is visible, in metres.
    pub(super) radius: f64,
}

impl Camera {
    /// The camera that follows the scene's car.
    pub(super) fn new(scene: &Scene<'_>) -> Self {
        let hull = &scene.car.bodies.hull;
        let position = [hull.transform.position.x, hull.transform.position.y].map(f64::from);
        let (sin, cos) = (-f64::from(hull.angle)).sin_cos();
        let zoom = FAR_ZOOM * (1.0 - scene.zoom) + NEAR_ZOOM * scene.zoom;
        let scroll = rotate(sin, cos, position.map(|p| -p * zoom));
        let shift = [WINDOW_WIDTH / 2.0 + scroll[0], WINDOW_HEIGHT / 4.0 + scroll[1]];
        let half = [WINDOW_WIDTH / 2.0, (WINDOW_HEIGHT - PANEL_HEIGHT) / 2.0];
        let up = (PANEL_HEIGHT + half[1] - WINDOW_HEIGHT / 4.0) / zoom;
        Self {
            sin,
            cos,
            zoom,
            shift,
            center: [position[0] + sin * up, position[1] + cos * up],
            radius: half[0].hypot(half[1]) / zoom,
        }
    }

    /// Where a point of the world lies, truncated to whole pixels as pygame does.
    pub(super) fn project(&self, point: [f64; 2]) -> WindowPoint {
        let [x, y] = rotate(self.sin, self.cos, point);
        [(x * self.zoom + self.shift[0]) as i32, (y * self.zoom + self.shift[1]) as i32]
    }
}

fn rotate(sin: f64, cos: f64, [x, y]: [f64; 2]) -> [f64; 2] {
    [cos * x - sin * y, sin * x + cos * y]
}
