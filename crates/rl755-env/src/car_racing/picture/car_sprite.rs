//! The car, painted in pixels of Gymnasium's window and then averaged.

use super::{
    super::car::Car,
    camera::{Camera, WINDOW_HEIGHT, WINDOW_WIDTH, WindowPoint},
    car_outline::{Paint, draw_car},
    coverage::{Ink, WIDTH},
    polygon_spans::polygon_spans,
};

/// Pixels of the window, to each side of the hull's place, that hold the whole car.
const REACH: i32 = 60;
/// Side of the painted square.
const SIDE: usize = 2 * REACH as usize;
/// The window's column and row (y up) of the square's first pixel.
const ORIGIN: WindowPoint = [WINDOW_WIDTH as i32 / 2 - REACH, WINDOW_HEIGHT as i32 / 4 - REACH];

/// Columns and rows of the picture per pixel of the window.
const SCALE: [f32; 2] = [(96.0 / WINDOW_WIDTH) as f32, (96.0 / WINDOW_HEIGHT) as f32];
/// The picture's first column and row that the square touches.
const FIRST: [usize; 2] = [42, 64];
/// How many columns and rows it touches.
const COLUMNS: usize = 12;
const ROWS: usize = 16;

/// The picture of the car, without what is around it.
#[derive(Clone, Debug)]
pub(super) struct CarSprite {
    pixels: Vec<u8>,
    /// First and last painted column and row of the square.
    painted: [[i32; 2]; 2],
    cells: [[Ink; COLUMNS]; ROWS],
}

/// Nothing is painted.
const NOTHING: [[i32; 2]; 2] = [[SIDE as i32, -1]; 2];

impl CarSprite {
    /// An empty sprite.
    pub(super) fn new() -> Self {
        Self { pixels: vec![0; SIDE * SIDE], painted: NOTHING, cells: [[[0.0; 4]; COLUMNS]; ROWS] }
    }

    /// Paints the wheels, and the hull over them.
    pub(super) fn paint(&mut self, camera: &Camera, car: &Car) {
        draw_car(camera, car, |corners, paint| self.fill(corners, paint));
        self.average();
    }

    /// Lays row `row` of the car over the picture's row, and forgets it.
    pub(super) fn blend_row(&mut self, row: usize, line: &mut [Ink; WIDTH]) {
        let Some(cells) = row.checked_sub(FIRST[1]).and_then(|row| self.cells.get_mut(row)) else {
            return;
        };
        for (pixel, cell) in line[FIRST[0]..].iter_mut().zip(cells.iter_mut()) {
            *pixel = std::array::from_fn(|i| pixel[i] * (1.0 - cell[3]) + cell[i]);
            *cell = [0.0; 4];
        }
    }

    fn fill(&mut self, corners: &[WindowPoint], paint: Paint) {
        for [x, y] in corners {
            self.include(0, x - ORIGIN[0]);
            self.include(1, y - ORIGIN[1]);
        }
        polygon_spans(corners, |y, left, right| self.fill_line(y, left, right, paint));
    }

    /// Fills the pixels from `left` to `right` of a row of the window.
    fn fill_line(&mut self, y: i32, left: i32, right: i32, paint: Paint) {
        let limit = SIDE as i32 - 1;
        let (left, right) = ((left - ORIGIN[0]).max(0), (right - ORIGIN[0]).min(limit));
        let row = y - ORIGIN[1];
        if (0..=limit).contains(&row) && left <= right {
            let start = row as usize * SIDE;
            self.pixels[start + left as usize..=start + right as usize].fill(paint as u8);
        }
    }

    /// Notes that a corner of what is painted is at a column (`axis` 0) or row (1).
    fn include(&mut self, axis: usize, at: i32) {
        let at = at.clamp(0, SIDE as i32 - 1);
        let [first, last] = &mut self.painted[axis];
        (*first, *last) = ((*first).min(at), (*last).max(at));
    }

    /// Turns the painted pixels into shares of the picture's pixels, and clears them.
    fn average(&mut self) {
        let inks = [Paint::Tyre, Paint::TyreMark, Paint::Hull].map(|paint| {
            let [red, green, blue] = paint.color().map(f32::from);
            [red, green, blue, 1.0]
        });
        let [[x0, x1], [y0, y1]] = std::mem::replace(&mut self.painted, NOTHING);
        for y in y0..=y1 {
            let start = y as usize * SIDE;
            let pixels = &mut self.pixels[start + x0 as usize..=start + x1 as usize];
            // The picture's y points down.
            let top = (WINDOW_HEIGHT as i32 - 1 - ORIGIN[1] - y) as f32 * SCALE[1];
            let row = top as i32 as usize;
            let above = (row as f32 + 1.0 - top).min(SCALE[1]);
            let mut x = x0;
            for run in pixels.chunk_by(|a, b| a == b) {
                let end = x + run.len() as i32;
                if run[0] != 0 {
                    let ink = inks[usize::from(run[0]) - 1];
                    let (left, right) = (on_picture(x), on_picture(end));
                    add_run(&mut self.cells[row - FIRST[1]], ink, left, right, above);
                    if above < SCALE[1] {
                        let below = SCALE[1] - above;
                        add_run(&mut self.cells[row + 1 - FIRST[1]], ink, left, right, below);
                    }
                }
                x = end;
            }
            pixels.fill(0);
        }
    }
}

/// The column of the picture, with fraction, where a column of the square begins.
fn on_picture(x: i32) -> f32 {
    (ORIGIN[0] + x) as f32 * SCALE[0] - FIRST[0] as f32
}

/// Adds a strip of ink from column `left` to `right`, `height` rows high.
fn add_run(cells: &mut [Ink; COLUMNS], ink: Ink, left: f32, right: f32, height: f32) {
    let (first, last) = (left as i32 as usize, right as i32 as usize);
    for (column, cell) in cells.iter_mut().enumerate().take(last + 1).skip(first) {
        let width = right.min(column as f32 + 1.0) - left.max(column as f32);
        *cell = std::array::from_fn(|i| cell[i] + ink[i] * (width * height));
    }
}
