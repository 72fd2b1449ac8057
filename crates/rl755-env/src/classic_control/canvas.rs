//! A picture to draw on: filled polygons and circles, and lines, with smooth edges.
//!
//! Points are pixels from the left and from the *bottom*, and whole numbers are middles of pixels:
//! Gymnasium draws classic control so, and flips the picture in the end. Edges are as soft as those
//! of the library it draws with: a shape covers the pixels within its outline fully, and those
//! outside the less the further off they are, up to one pixel; from a straight edge that is counted
//! along a row or a column, whichever crosses it more steeply (Wu, "An efficient antialiasing
//! technique", 1991).

use crate::RgbFrame;

/// Red, green, blue.
pub(super) type Color = [u8; 3];
/// Pixels from the left and from the bottom.
pub(super) type Point = [f64; 2];

pub(super) const BLACK: Color = [0, 0, 0];

/// A picture that is white at first.
pub(super) struct Canvas {
    frame: RgbFrame,
    /// How much of each pixel the current shape covers, row by row from the bottom; zero between
    /// two shapes.
    coverage: Vec<f32>,
}

/// Columns and rows that a shape can touch, each from its first to before its last.
struct Area {
    columns: std::ops::Range<usize>,
    rows: std::ops::Range<usize>,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let frame = RgbFrame::filled(height, width, [255; 3]);
        Self { frame, coverage: vec![0.0; width * height] }
    }

    /// Fills a convex polygon whose corners are in either order.
    pub(super) fn polygon<const N: usize>(&mut self, corners: [Point; N], color: Color) {
        let area = self.area(&corners, 0.0);
        let inside = corners.iter().fold([0.0; 2], |sum, c| [sum[0] + c[0], sum[1] + c[1]]);
        let inside = inside.map(|sum| sum / N as f64);
        // Each edge as its distance, a·x + b·y + c, negative inside.
        let edges: [[f64; 3]; N] = std::array::from_fn(|i| {
            let ([x0, y0], [x1, y1]) = (corners[i], corners[(i + 1) % N]);
            let length = (x1 - x0).abs().max((y1 - y0).abs()).max(f64::MIN_POSITIVE);
            let (a, b) = ((y1 - y0) / length, (x0 - x1) / length);
            let c = -(a * x0 + b * y0);
            let sign = if a * inside[0] + b * inside[1] + c > 0.0 { -1.0 } else { 1.0 };
            [a, b, c].map(|v| sign * v)
        });
        self.cover(&area, |[x, y]| {
            edges.iter().fold(f64::NEG_INFINITY, |d, [a, b, c]| d.max(a * x + b * y + c))
        });
        self.paint(&area, color, 1.0);
    }

    /// Fills a circle.
    pub(super) fn circle(&mut self, center: Point, radius: f64, color: Color) {
        let area = self.area(&[center], radius);
        self.cover(&area, |[x, y]| (x - center[0]).hypot(y - center[1]) - radius);
        self.paint(&area, color, 1.0);
    }

    /// Draws a line from point to point. One that is thinner than a pixel is paler.
    pub(super) fn line(&mut self, points: &[Point], width: f64, color: Color) {
        let beyond = (width - 1.0).max(0.0) / 2.0;
        for ends in points.windows(2) {
            let [from, to] = [ends[0], ends[1]];
            let along = [to[0] - from[0], to[1] - from[1]];
            let square = (along[0] * along[0] + along[1] * along[1]).max(f64::MIN_POSITIVE);
            let stretch = square.sqrt() / along[0].abs().max(along[1].abs()).max(f64::MIN_POSITIVE);
            let area = self.area(ends, beyond);
            self.cover(&area, |[x, y]| {
                let place = (x - from[0]) * along[0] + (y - from[1]) * along[1];
                let place = (place / square).clamp(0.0, 1.0);
                let (dx, dy) = (x - from[0] - place * along[0], y - from[1] - place * along[1]);
                (dx.hypot(dy) - beyond) * stretch
            });
        }
        let area = self.area(points, beyond);
        self.paint(&area, color, width.min(1.0) as f32);
    }

    pub(super) fn into_frame(self) -> RgbFrame {
        self.frame
    }

    /// The pixels that are less than one pixel and `beyond` from the box around `points`.
    fn area(&self, points: &[Point], beyond: f64) -> Area {
        let range = |axis: usize, size: usize| {
            let values = points.iter().map(|point| point[axis]);
            let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                (low.min(v), high.max(v))
            });
            // A cast to an integer saturates: what lies outside the picture is cut off.
            let first = ((low - beyond).floor() as usize).min(size);
            let last = ((high + beyond + 1.0).ceil().max(0.0) as usize).min(size);
            first..last
        };
        Area { columns: range(0, self.frame.width), rows: range(1, self.frame.height) }
    }

    /// Covers a shape, given by the distance from its outline, negative inside.
    fn cover(&mut self, area: &Area, distance: impl Fn(Point) -> f64) {
        for row in area.rows.clone() {
            for column in area.columns.clone() {
                let covered = 1.0 - distance([column as f64, row as f64]);
                let cell = &mut self.coverage[row * self.frame.width + column];
                *cell = cell.max(covered.clamp(0.0, 1.0) as f32);
            }
        }
    }

    /// Lays a colour over what is covered, and uncovers it.
    fn paint(&mut self, area: &Area, color: Color, strength: f32) {
        let (width, height) = (self.frame.width, self.frame.height);
        for row in area.rows.clone() {
            for column in area.columns.clone() {
                let covered = std::mem::take(&mut self.coverage[row * width + column]);
                let first = 3 * ((height - 1 - row) * width + column);
                for (value, ink) in self.frame.pixels[first..first + 3].iter_mut().zip(color) {
                    let below = f32::from(*value);
                    let mixed = below + (f32::from(ink) - below) * covered * strength;
                    *value = mixed.round() as u8;
                }
            }
        }
    }
}

/// Points cut to whole pixels, as the drawing library that Gymnasium uses takes its corners.
pub(super) fn whole_pixels<const N: usize>(points: [Point; N]) -> [Point; N] {
    points.map(|point| point.map(f64::trunc))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How dark the pixels of a small picture are, 0 to 255, row by row from the top.
    fn dark(draw: impl Fn(&mut Canvas)) -> [[u8; 5]; 4] {
        let mut canvas = Canvas::new(5, 4);
        draw(&mut canvas);
        assert!(canvas.coverage.iter().all(|covered| *covered == 0.0), "left for the next shape");
        let frame = canvas.into_frame();
        std::array::from_fn(|row| {
            std::array::from_fn(|column| 255 - frame.pixels[3 * (5 * row + column)])
        })
    }

    #[test]
    fn rows_are_counted_from_the_bottom() {
        let line = dark(|canvas| canvas.line(&[[0.0, 1.0], [5.0, 1.0]], 1.0, BLACK));
        assert_eq!(line, [[0; 5], [0; 5], [255; 5], [0; 5]]);
    }

    #[test]
    fn shapes_cover_their_outline_and_fade_out_within_a_pixel() {
        let corners = [[1.0, 1.0], [1.0, 2.4], [3.0, 2.4], [3.0, 1.0]];
        let rectangle = dark(|canvas| canvas.polygon(corners, BLACK));
        let (part, full) = ([0, 102, 102, 102, 0], [0, 255, 255, 255, 0]);
        assert_eq!(rectangle, [part, full, full, [0; 5]]);
        let mut backwards = corners;
        backwards.reverse();
        assert_eq!(dark(|canvas| canvas.polygon(backwards, BLACK)), rectangle);
        let circle = dark(|canvas| canvas.circle([2.0, 1.0], 1.0, BLACK));
        assert_eq!(circle[2], full);
        assert_eq!(circle[1][1..4], [149, 255, 149], "√2 - 1 of a pixel outside");
    }

    #[test]
    fn slanted_lines_have_one_pixel_s_ink_in_each_column() {
        let line = dark(|canvas| canvas.line(&[[-5.0, 0.0], [10.0, 3.75]], 1.0, BLACK));
        for column in 0..5 {
            let ink: u32 = line.iter().map(|row| u32::from(row[column])).sum();
            assert!((254..=256).contains(&ink), "{line:?}");
        }
    }

    #[test]
    fn thin_lines_are_pale_and_parts_of_a_line_do_not_add_up() {
        let line = dark(|canvas| canvas.line(&[[0.0, 2.0], [2.0, 2.0], [4.0, 2.0]], 0.4, BLACK));
        assert_eq!(line[1], [102; 5]);
    }

    #[test]
    fn what_lies_outside_the_picture_is_cut_off() {
        let all = dark(|canvas| {
            canvas.polygon([[-1e9, -1e9], [-1e9, 1e9], [1e9, 1e9], [1e9, -1e9]], BLACK);
        });
        assert_eq!(all, [[255; 5]; 4]);
        let nothing = dark(|canvas| {
            canvas.circle([-9.0, 2.0], 3.0, BLACK);
            canvas.line(&[[9.0, 9.0], [12.0, 5.0]], 3.0, BLACK);
        });
        assert_eq!(nothing, [[0; 5]; 4]);
    }
}
