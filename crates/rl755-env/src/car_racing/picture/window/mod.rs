//! The picture for people: Gymnasium's window of 1000×800, shrunk to 600×400.
//!
//! It is drawn as pygame does, pixel by pixel, and then scaled; in contrast to observations it
//! shows the marks of sliding wheels. Only the score's digits have shapes of their own.

mod canvas;
mod smooth_scale;

use self::canvas::{Canvas, HEIGHT, WIDTH};
use super::{
    super::{scene::Scene, track::PLAYFIELD},
    camera::Camera,
    car_outline::draw_car,
    digits::{COLUMNS, GRID, Glyph, SCORE_HEIGHT, SCORE_TOP, score_glyphs},
    landscape::{GRASS_SIZE, SQUARES},
    panel::{bars, score_text},
};
use crate::RgbFrame;

/// Width and height of the picture.
const PICTURE: [usize; 2] = [600, 400];
/// Rows of the window that the indicators take.
const PANEL: usize = HEIGHT / 8;
/// The mark of a wheel on the road and on grass.
const MARK_COLORS: [[u8; 3]; 2] = [[0, 0, 0], [102, 102, 0]];
/// How sharp the edges of digits are.
const CONTRAST: f32 = 3.0;

/// Draws `scene` for people.
pub(crate) fn picture_for_people(scene: &Scene<'_>) -> RgbFrame {
    let mut canvas = Canvas::new();
    let camera = Camera::new(scene);
    draw_landscape(&mut canvas, &camera, scene);
    for mark in scene.car.skids.marks() {
        let color = MARK_COLORS[usize::from(mark.on_grass)];
        for line in mark.places().windows(2) {
            let [from, to] = [line[0], line[1]]
                .map(|place| camera.project([f64::from(place.x), f64::from(place.y)]));
            canvas.line(from, to, color);
        }
    }
    draw_car(&camera, scene.car, |corners, paint| canvas.polygon(corners, paint.color()));
    canvas.flip();
    draw_panel(&mut canvas, scene);
    let [width, height] = PICTURE;
    let pixels = smooth_scale::shrink(&canvas.pixels, [WIDTH, HEIGHT], PICTURE);
    RgbFrame { height, width, pixels: pixels.into_flattened() }
}

fn draw_landscape(canvas: &mut Canvas, camera: &Camera, scene: &Scene<'_>) {
    let bound = PLAYFIELD;
    let field = [[bound, bound], [bound, -bound], [-bound, -bound], [-bound, bound]];
    let on_window = |corners: [[f64; 2]; 4]| corners.map(|corner| camera.project(corner));
    canvas.soft_polygon(on_window(field), scene.field_color);
    let squares = SQUARES as i32;
    for column in -squares..squares {
        for row in -squares..squares {
            let [x, y] = [column, row].map(|index| GRASS_SIZE * f64::from(2 * index));
            let (right, above) = (x + GRASS_SIZE, y + GRASS_SIZE);
            let square = [[right, y], [x, y], [x, above], [right, above]];
            canvas.soft_polygon(on_window(square), scene.grass_color);
        }
    }
    for polygon in scene.road {
        canvas.soft_polygon(on_window(polygon.corners), polygon.color);
    }
}

fn draw_panel(canvas: &mut Canvas, scene: &Scene<'_>) {
    canvas.pixels[(HEIGHT - PANEL) * WIDTH..].fill([0; 3]);
    for bar in bars(scene.car) {
        if let Some([[left, top], [right, bottom]]) = bar.pixels() {
            let corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
            canvas.polygon(&corners, bar.color);
        }
    }
    draw_score(canvas, &score_text(scene.score));
}

fn draw_score(canvas: &mut Canvas, text: &str) {
    for (glyph, left) in score_glyphs(text) {
        for y in SCORE_TOP as i32..=(SCORE_TOP + SCORE_HEIGHT) as i32 {
            let row = (y as f32 + 0.5 - SCORE_TOP) / SCORE_HEIGHT * GRID as f32;
            for x in left as i32..=(left + glyph.width) as i32 {
                let column = (x as f32 + 0.5 - left) / glyph.width * COLUMNS as f32;
                let ink = (between(&glyph, row, column) - 0.5) * CONTRAST + 0.5;
                canvas.blend([x, y], [255; 3], (ink.clamp(0.0, 1.0) * 255.0) as i32);
            }
        }
    }
}

/// The ink of a place between the middles of a glyph's fields.
fn between(glyph: &Glyph, row: f32, column: f32) -> f32 {
    let ink = |row: f32, column: f32| {
        let inside = row >= 0.0 && row < GRID as f32 && column >= 0.0 && column < COLUMNS as f32;
        if inside { glyph.ink(row as usize, column as usize) } else { 0.0 }
    };
    let (row, column) = (row - 0.5, column - 0.5);
    let (above, left) = (row.floor(), column.floor());
    let (down, across) = (row - above, column - left);
    let line = |row: f32| ink(row, left) * (1.0 - across) + ink(row, left + 1.0) * across;
    line(above) * (1.0 - down) + line(above + 1.0) * down
}
