//! The black panel at the foot of the picture: score, speed, wheels, steering and turning.

use std::{fmt::Write, mem};

use super::{
    super::{
        car::{Car, WHEELS},
        scene::Scene,
    },
    SIZE,
    camera::{WINDOW_HEIGHT, WINDOW_WIDTH},
    digits::{COLUMNS, GRID, SCORE_HEIGHT, SCORE_TOP, score_glyphs},
    level,
};

/// A place of the panel is this many pixels of the window wide.
const PLACE: f64 = WINDOW_WIDTH / 40.0;
/// And this many high.
const STEP: f64 = WINDOW_HEIGHT / 40.0;

/// Columns and rows of the picture that the score can take.
const SCORE_COLUMNS: usize = 12;
const SCORE_FIRST_ROW: usize = 87;
const SCORE_ROWS: usize = 5;

/// More characters than the score of an episode has.
const SCORE_LENGTH: usize = 16;

/// Values closer to 0 are not shown.
const LEAST_SHOWN: f64 = 1e-4;

/// Draws the panel; keeps the last score's picture, for it changes once in ten steps.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    score: String,
    /// Where the next score is written; both are kept, so that drawing takes no memory.
    next_score: String,
    score_pixels: [[u8; SCORE_COLUMNS]; SCORE_ROWS],
}

/// An indicator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    /// What it shows.
    value: f64,
    /// Its two opposite corners, in pixels of the window (y down).
    corners: [[f64; 2]; 2],
    /// Red, green, blue.
    pub(super) color: [u8; 3],
}

impl Bar {
    /// The pixels at its corners, unless its value is as good as 0.
    pub(super) fn pixels(&self) -> Option<[[i32; 2]; 2]> {
        (self.value.abs() > LEAST_SHOWN)
            .then(|| self.corners.map(|corner| corner.map(|c| c as i32)))
    }
}

/// The indicators in the order of drawing: speed, wheels, steering and turning.
pub(super) fn bars(car: &Car) -> [Bar; 3 + WHEELS] {
    let hull = &car.bodies.hull;
    let [vx, vy] = [hull.linear_velocity.x, hull.linear_velocity.y].map(f64::from);
    let speed = (vx * vx + vy * vy).sqrt();
    let wheel = |index: usize| {
        let omega = car.wheels[index].omega;
        let color = if index < 2 { [0, 0, 255] } else { [51, 0, 255] };
        upright(7.0 + index as f64, omega, 0.01, color)
    };
    [
        upright(5.0, speed, 0.02, [255; 3]),
        wheel(0),
        wheel(1),
        wheel(2),
        wheel(3),
        level_bar(20.0, f64::from(car.joint_angle(0)), -10.0, [0, 255, 0]),
        level_bar(30.0, f64::from(hull.angular_velocity), -0.8, [255, 0, 0]),
    ]
}

impl Panel {
    /// A panel that has not shown a score.
    pub(super) fn new() -> Self {
        let score = || String::with_capacity(SCORE_LENGTH);
        Self { score: score(), next_score: score(), score_pixels: [[0; SCORE_COLUMNS]; SCORE_ROWS] }
    }

    /// Paints bars and score over a whole picture whose panel is black.
    pub(super) fn paint(&mut self, scene: &Scene<'_>, picture: &mut [u8]) {
        let mut bars = bars(scene.car);
        for bar in &mut bars[1..WHEELS] {
            // A wheel's last column is the next one's first, which is painted over it.
            bar.corners[1][0] -= 1.0;
        }
        for bar in &bars {
            show(picture, bar);
        }
        self.paint_score(scene.score, picture);
    }

    fn paint_score(&mut self, score: f64, picture: &mut [u8]) {
        self.next_score.clear();
        write_score(score, &mut self.next_score);
        if self.next_score != self.score {
            self.score_pixels = score_pixels(&self.next_score);
            mem::swap(&mut self.score, &mut self.next_score);
        }
        for (row, values) in self.score_pixels.iter().enumerate() {
            let start = (SCORE_FIRST_ROW + row) * SIZE * 3;
            for (pixel, &value) in picture[start..].chunks_exact_mut(3).zip(values) {
                pixel.fill(value);
            }
        }
    }
}

/// A bar that grows upwards from near the panel's foot, by `scale` steps for each of its value.
fn upright(place: f64, value: f64, scale: f64, color: [u8; 3]) -> Bar {
    let foot = WINDOW_HEIGHT - STEP;
    let top = WINDOW_HEIGHT - (STEP + STEP * (scale * value));
    Bar { value, corners: [[place * PLACE, top], [(place + 1.0) * PLACE, foot]], color }
}

/// A bar that grows to the right, or to the left when `scale` or `value` is negative.
fn level_bar(place: f64, value: f64, scale: f64, color: [u8; 3]) -> Bar {
    let (top, foot) = (WINDOW_HEIGHT - 4.0 * STEP, WINDOW_HEIGHT - 2.0 * STEP);
    Bar { value, corners: [[place * PLACE, top], [(place + scale * value) * PLACE, foot]], color }
}

/// Paints a bar.
fn show(picture: &mut [u8], bar: &Bar) {
    let Some([a, b]) = bar.pixels() else { return };
    // The pixels at both corners belong to the bar.
    let range = |axis: usize| {
        let (a, b) = (a[axis], b[axis]);
        let scale = 96.0 / [WINDOW_WIDTH, WINDOW_HEIGHT][axis] as f32;
        [a.min(b) as f32 * scale, (a.max(b) + 1) as f32 * scale].map(|v| v.clamp(0.0, 96.0))
    };
    let ([left, right], [top, bottom]) = (range(0), range(1));
    let color = bar.color.map(|c| f32::from(level(f32::from(c))));
    for row in top as usize..(bottom.ceil() as usize) {
        let height = share(row, top, bottom);
        for column in left as usize..(right.ceil() as usize) {
            let area = height * share(column, left, right);
            let start = (row * SIZE + column) * 3;
            for (byte, color) in picture[start..start + 3].iter_mut().zip(color) {
                // Neighbours share a column; on black their parts of it add up.
                *byte =
                    (f32::from(*byte) + color * area + 0.5).min(color.max(f32::from(*byte))) as u8;
            }
        }
    }
}

/// How much of the pixel at `index` lies between two places.
fn share(index: usize, from: f32, to: f32) -> f32 {
    (to.min(index as f32 + 1.0) - from.max(index as f32)).max(0.0)
}

/// The score as Gymnasium prints it.
pub(super) fn score_text(score: f64) -> String {
    let mut text = String::new();
    write_score(score, &mut text);
    text
}

/// Appends the score as Gymnasium prints it.
fn write_score(score: f64, text: &mut String) {
    write!(text, "{score:04.0}").expect("a String takes any text");
}

/// The score's part of the picture, in grey.
fn score_pixels(text: &str) -> [[u8; SCORE_COLUMNS]; SCORE_ROWS] {
    let scale = [(96.0 / WINDOW_WIDTH) as f32, (96.0 / WINDOW_HEIGHT) as f32];
    let mut ink = [[0.0; SCORE_COLUMNS]; SCORE_ROWS];
    for (glyph, left) in score_glyphs(text) {
        let field = [glyph.width / COLUMNS as f32, SCORE_HEIGHT / GRID as f32];
        for row in 0..GRID {
            let top = (SCORE_TOP + row as f32 * field[1]) * scale[1] - SCORE_FIRST_ROW as f32;
            let bottom = top + field[1] * scale[1];
            for column in 0..COLUMNS {
                let from = (left + column as f32 * field[0]) * scale[0];
                let to = from + field[0] * scale[0];
                for (y, line) in ink.iter_mut().enumerate() {
                    for (x, pixel) in line.iter_mut().enumerate() {
                        *pixel +=
                            glyph.ink(row, column) * share(y, top, bottom) * share(x, from, to);
                    }
                }
            }
        }
    }
    ink.map(|line| line.map(|ink| level(255.0 * ink)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_printed_as_python_does() {
        // Python: f"{score:04.0f}".
        let cases = [(0.0, "0000"), (6.45, "0006"), (0.5, "0000"), (1.5, "0002"), (2.5, "0002")];
        for (score, text) in
            cases.into_iter().chain([(-0.1, "-000"), (-12.4, "-012"), (912.3, "0912")])
        {
            assert_eq!(score_text(score), text);
        }
    }

    #[test]
    fn every_character_of_a_score_has_a_shape() {
        for text in ["0123", "4567", "89-0"] {
            let blank = score_pixels(&text.replace(|_| true, " "));
            assert_ne!(score_pixels(text), blank);
        }
    }
}
