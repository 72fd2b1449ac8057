//! The field, the squares of longer grass on it, and the road.

use super::{
    super::{
        road::RoadPolygon,
        scene::Scene,
        track::{PLAYFIELD, TRACK_WIDTH},
    },
    camera::{Camera, WINDOW_HEIGHT, WINDOW_WIDTH},
    coverage::{HEIGHT, Ink, Layer, WIDTH},
};

/// Side of a square of grass; between two squares lies as much of the field.
pub(super) const GRASS_SIZE: f64 = PLAYFIELD / 20.0;
/// Squares in each direction from the middle of the field.
pub(super) const SQUARES: f64 = 10.0;
/// By how much pygame's filled polygons with smoothed edges reach beyond their corners' middles,
/// in pixels of the window.
const EDGE: f32 = 0.55;
/// A bound for the distance of a road polygon's corners.
const ROAD_POLYGON_SIZE: f64 = 4.0 * TRACK_WIDTH;

/// Pixels of the picture per pixel of the window.
const SCALE: [f32; 2] = [(96.0 / WINDOW_WIDTH) as f32, (96.0 / WINDOW_HEIGHT) as f32];

/// Adds the field and its grass. What they do not cover is black.
pub(super) fn add_ground(ground: &mut Layer, camera: &Camera, scene: &Scene<'_>) {
    let field = opaque(scene.field_color);
    let bound = PLAYFIELD;
    let corners = [[bound, bound], [bound, -bound], [-bound, -bound], [-bound, bound]];
    add_visible(ground, widened(on_window(camera, corners)), field);

    // The squares lie on the field: they add what their colour differs by.
    let grass = opaque(scene.grass_color);
    let difference = std::array::from_fn(|i| grass[i] - field[i]);
    let pitch = 2.0 * GRASS_SIZE;
    let range = |center: f64| {
        let first = ((center - camera.radius - GRASS_SIZE) / pitch).ceil().max(-SQUARES) as i32;
        let last = ((center + camera.radius) / pitch).floor().min(SQUARES - 1.0) as i32;
        first..=last
    };
    for column in range(camera.center[0]) {
        for row in range(camera.center[1]) {
            let (x0, y0) = (f64::from(column) * pitch, f64::from(row) * pitch);
            let (x1, y1) = (x0 + GRASS_SIZE, y0 + GRASS_SIZE);
            let corners = [[x1, y0], [x0, y0], [x0, y1], [x1, y1]];
            add_visible(ground, widened(on_window(camera, corners)), difference);
        }
    }
}

/// Adds the road and its kerbs.
pub(super) fn add_road(layer: &mut Layer, camera: &Camera, road: &[RoadPolygon]) {
    let reach = camera.radius + ROAD_POLYGON_SIZE;
    for polygon in road {
        let [x, y] = polygon.corners[0];
        let (dx, dy) = (x - camera.center[0], y - camera.center[1]);
        if dx * dx + dy * dy < reach * reach {
            // Tiles meet at their first and last sides; they reach further at the other two.
            let corners = lengthened(on_window(camera, polygon.corners));
            add_visible(layer, corners, opaque(polygon.color));
        }
    }
}

/// A quadrilateral in pixels of the window, x to the right and y up.
type Quad = [[f32; 2]; 4];

/// Adds what is visible of a quadrilateral.
fn add_visible(layer: &mut Layer, corners: Quad, ink: Ink) {
    let points = corners.map(|[x, y]| [x * SCALE[0], (WINDOW_HEIGHT as f32 - y) * SCALE[1]]);
    let outside = |axis: usize, limit: usize| {
        points.iter().all(|p| p[axis] <= 0.0) || points.iter().all(|p| p[axis] >= limit as f32)
    };
    if !outside(0, WIDTH) && !outside(1, HEIGHT) {
        layer.add(points, ink);
    }
}

/// The middles of the pixels where pygame puts the corners.
fn on_window(camera: &Camera, corners: [[f64; 2]; 4]) -> Quad {
    corners.map(|corner| camera.project(corner).map(|c| c as f32 + 0.5))
}

/// The area that pygame fills.
fn widened(corners: Quad) -> Quad {
    let [a, b, c, d] = lengthened(corners);
    let [b, c, d, a] = lengthened([b, c, d, a]);
    [a, b, c, d]
}

/// The area that pygame fills, but not beyond the sides from corner 0 to 1 and from 2 to 3.
fn lengthened([a, b, c, d]: Quad) -> Quad {
    let (a, b) = stretched(a, b);
    let (d, c) = stretched(d, c);
    [a, b, c, d]
}

/// Both ends of a line, moved apart.
fn stretched(from: [f32; 2], to: [f32; 2]) -> ([f32; 2], [f32; 2]) {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    let length = (dx * dx + dy * dy).sqrt();
    let factor = if length > 0.0 { EDGE / length } else { 0.0 };
    let (dx, dy) = (dx * factor, dy * factor);
    ([from[0] - dx, from[1] - dy], [to[0] + dx, to[1] + dy])
}

fn opaque([red, green, blue]: [u8; 3]) -> Ink {
    [f32::from(red), f32::from(green), f32::from(blue), 1.0]
}
