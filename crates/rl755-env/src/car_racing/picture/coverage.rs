//! Exact areas of polygons within pixels, summed with their colours.
//!
//! The method is that of signed-area accumulation, known from font rasterisers: each edge adds,
//! to the pixels it passes, by how much the area to its right differs from that of the pixel
//! before; sums from left to right then give areas.

/// Pixels per row.
pub(super) const WIDTH: usize = 96;
/// Rows: those above the indicators.
pub(super) const HEIGHT: usize = 84;
/// An edge at the right border may touch two pixels beyond it.
const STRIDE: usize = WIDTH + 2;

/// Red, green and blue of 0 to 255, and a weight.
pub(super) type Ink = [f32; 4];

/// Polygons that do not overlap, as sums of area times ink.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    cells: Vec<Ink>,
    /// Each row's first cell that was added to; `STRIDE` in an empty row.
    first: [usize; HEIGHT],
}

impl Layer {
    /// An empty layer.
    pub(super) fn new() -> Self {
        Self { cells: vec![[0.0; 4]; STRIDE * HEIGHT], first: [STRIDE; HEIGHT] }
    }

    /// Adds a polygon, in the picture's pixels (y down), clipped to the layer.
    pub(super) fn add<const N: usize>(&mut self, points: [[f32; 2]; N], ink: Ink) {
        let mut doubled_area = 0.0;
        let mut previous = points[N - 1];
        for point in points {
            doubled_area += previous[0] * point[1] - previous[1] * point[0];
            previous = point;
        }
        let ink = if doubled_area < 0.0 { ink } else { ink.map(|v| -v) };
        for point in points {
            self.add_edge(previous, point, ink);
            previous = point;
        }
    }

    fn add_edge(&mut self, from: [f32; 2], to: [f32; 2], ink: Ink) {
        let (mut top, mut bottom, ink) =
            if from[1] < to[1] { (from, to, ink) } else { (to, from, ink.map(|v| -v)) };
        let (limit_x, limit_y) = (WIDTH as f32, HEIGHT as f32);
        if bottom[1] <= 0.0 || top[1] >= limit_y || top[1] == bottom[1] {
            return;
        }
        let slope = (bottom[0] - top[0]) / (bottom[1] - top[1]);
        if top[1] < 0.0 {
            top = [top[0] - slope * top[1], 0.0];
        }
        if bottom[1] > limit_y {
            bottom = [bottom[0] + slope * (limit_y - bottom[1]), limit_y];
        }
        // Left of the layer an edge acts as if it ran down the border; right of it, not at all.
        let cut = |x: f32| top[1] + (x - top[0]) / slope;
        let crosses = |x: f32| (top[0] < x) != (bottom[0] < x);
        let mut cuts = [top[1], bottom[1], bottom[1], bottom[1]];
        let (at_left, at_right) = (crosses(0.0), crosses(limit_x));
        match (at_left, at_right) {
            (false, false) => {}
            (true, false) => cuts[1] = cut(0.0),
            (false, true) => cuts[1] = cut(limit_x),
            (true, true) => {
                let (left, right) = (cut(0.0), cut(limit_x));
                (cuts[1], cuts[2]) = (left.min(right), left.max(right));
            }
        }
        for part in cuts.windows(2) {
            let (y0, y1) = (part[0].max(top[1]), part[1].min(bottom[1]));
            if y0 < y1 {
                let x0 = top[0] + slope * (y0 - top[1]);
                let middle = x0 + slope * (y1 - y0) / 2.0;
                if middle <= 0.0 {
                    self.add_upright(y0, y1, ink);
                } else if middle < limit_x {
                    self.add_inside(x0, slope, y0, y1, ink);
                }
            }
        }
    }

    /// An edge along the left border.
    fn add_upright(&mut self, y0: f32, y1: f32, ink: Ink) {
        for (row, part) in rows(y0, y1) {
            add(&mut self.cells[row * STRIDE], ink, part);
            self.first[row] = 0;
        }
    }

    /// An edge within the layer that goes down from (x0, y0).
    fn add_inside(&mut self, x0: f32, slope: f32, y0: f32, y1: f32, ink: Ink) {
        let mut x = x0.clamp(0.0, WIDTH as f32);
        for (row, part) in rows(y0, y1) {
            let cells = &mut self.cells[row * STRIDE..(row + 1) * STRIDE];
            let next = (x + slope * part).clamp(0.0, WIDTH as f32);
            let (left, right) = (x.min(next), x.max(next));
            let first = left as i32 as usize;
            let last = right as i32 as usize;
            self.first[row] = self.first[row].min(first);
            let (left, right) = (left - first as f32, right - last as f32);
            if first == last {
                let beyond = (left + right) / 2.0;
                add(&mut cells[first], ink, part * (1.0 - beyond));
                add(&mut cells[first + 1], ink, part * beyond);
            } else {
                // Within the row the edge covers `per_pixel` of its height in each whole pixel.
                let per_pixel = part / (right - left + (last - first) as f32);
                let in_first = per_pixel * (1.0 - left);
                add(&mut cells[first], ink, in_first * (1.0 - left) / 2.0);
                let mut beyond = in_first * (1.0 + left) / 2.0;
                for cell in &mut cells[first + 1..last] {
                    add(cell, ink, beyond + per_pixel / 2.0);
                    beyond = per_pixel / 2.0;
                }
                let in_last = per_pixel * right;
                add(&mut cells[last], ink, beyond + in_last * (1.0 - right / 2.0));
                add(&mut cells[last + 1], ink, in_last * right / 2.0);
            }
            x = next;
        }
    }

    /// Writes a row's sums and empties it.
    #[cfg(test)]
    fn take_row(&mut self, row: usize, line: &mut [Ink; WIDTH]) {
        compose(self, &mut Self::new(), row, line);
    }

    /// A row's cells, and the first of them that was added to.
    fn row(&mut self, row: usize) -> (&mut [Ink], usize) {
        (&mut self.cells[row * STRIDE..(row + 1) * STRIDE], self.first[row])
    }

    fn clear_row(&mut self, row: usize) {
        let (cells, first) = self.row(row);
        cells[first..].fill([0.0; 4]);
        self.first[row] = STRIDE;
    }
}

/// Writes a row of `below` with that of `above` laid over it, and empties both. In `above` an ink's
/// weight is how much it hides.
pub(super) fn compose(below: &mut Layer, above: &mut Layer, row: usize, line: &mut [Ink; WIDTH]) {
    let (below_cells, _) = below.row(row);
    let (above_cells, first) = above.row(row);
    let bare = first.min(WIDTH);
    let mut ground = [0.0; 4];
    for (pixel, cell) in line[..bare].iter_mut().zip(below_cells.iter()) {
        ground = sum(ground, *cell);
        *pixel = ground;
    }
    let mut cover = [0.0; 4];
    let cells = below_cells[bare..].iter().zip(&above_cells[bare..]);
    for (pixel, (cell, above)) in line[bare..].iter_mut().zip(cells) {
        ground = sum(ground, *cell);
        cover = sum(cover, *above);
        // Where polygons overlap after all, their mean colour counts.
        let share = 1.0 / cover[3].max(1.0);
        let through = 1.0 - cover[3] * share;
        *pixel = std::array::from_fn(|i| ground[i] * through + cover[i] * share);
    }
    below.clear_row(row);
    above.clear_row(row);
}

fn sum(a: Ink, b: Ink) -> Ink {
    std::array::from_fn(|i| a[i] + b[i])
}

/// The rows between two heights within the layer, each with the part of it that lies between.
fn rows(y0: f32, y1: f32) -> impl Iterator<Item = (usize, f32)> {
    let first = y0 as i32 as usize;
    (first..HEIGHT)
        .map(move |row| (row, (row as f32 + 1.0).min(y1) - (row as f32).max(y0)))
        .take_while(|(_, part)| *part > 0.0)
}

fn add(cell: &mut Ink, ink: Ink, area: f32) {
    *cell = std::array::from_fn(|i| cell[i] + ink[i] * area);
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const INK: Ink = [1.0, 0.0, 0.0, 0.0];

    /// The areas within pixels, row by row.
    fn areas(polygons: &[[[f32; 2]; 4]]) -> Vec<[f32; WIDTH]> {
        let mut layer = Layer::new();
        for polygon in polygons {
            layer.add(*polygon, INK);
        }
        let mut line = [[0.0; 4]; WIDTH];
        (0..HEIGHT)
            .map(|row| {
                layer.take_row(row, &mut line);
                line.map(|ink| ink[0])
            })
            .collect()
    }

    /// A square's corners, turned by an angle.
    fn square(center: [f32; 2], half: f32, angle: f32) -> [[f32; 2]; 4] {
        [0.0, 1.0, 2.0, 3.0].map(|quarter| {
            let angle = angle + quarter * std::f32::consts::FRAC_PI_2;
            [center[0] + half * angle.cos(), center[1] + half * angle.sin()]
        })
    }

    #[test]
    fn an_upright_rectangle_covers_fractions_of_pixels() {
        let areas = areas(&[[[1.25, 2.5], [4.0, 2.5], [4.0, 4.0], [1.25, 4.0]]]);
        assert_eq!(areas[2][..5], [0.0, 0.375, 0.5, 0.5, 0.0]);
        assert_eq!(areas[3][..5], [0.0, 0.75, 1.0, 1.0, 0.0]);
        assert_eq!(areas[4][..5], [0.0; 5]);
    }

    #[test]
    fn areas_equal_sampled_ones_even_across_borders() {
        const SAMPLES: usize = 32;
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        let mut unit = || (rng.next_u32() >> 8) as f32 / (1 << 24) as f32;
        for _ in 0..40 {
            let center = [unit() * 120.0 - 12.0, unit() * 108.0 - 12.0];
            let polygon = square(center, 2.0 + 28.0 * unit(), 6.0 * unit());
            let inside = |x: f32, y: f32| {
                (0..4).all(|i| {
                    let ([ax, ay], [bx, by]) = (polygon[i], polygon[(i + 1) % 4]);
                    (bx - ax) * (y - ay) - (by - ay) * (x - ax) >= 0.0
                })
            };
            for (row, line) in areas(&[polygon]).iter().enumerate() {
                for (column, &area) in line.iter().enumerate() {
                    let place = |index: usize, sample: usize| {
                        index as f32 + (sample as f32 + 0.5) / SAMPLES as f32
                    };
                    let hits = (0..SAMPLES * SAMPLES)
                        .filter(|s| inside(place(column, s % SAMPLES), place(row, s / SAMPLES)))
                        .count();
                    let sampled = hits as f32 / (SAMPLES * SAMPLES) as f32;
                    assert!((area - sampled).abs() < 0.05, "{polygon:?} {column},{row}: {area}");
                }
            }
        }
    }

    #[test]
    fn orientation_does_not_matter() {
        let polygon = square([40.3, 30.2], 20.0, 0.4);
        let [a, b, c, d] = polygon;
        let (left, right) = (areas(&[polygon]), areas(&[[d, c, b, a]]));
        for (left, right) in left.iter().flatten().zip(right.iter().flatten()) {
            assert!((left - right).abs() < 1e-4);
        }
    }

    #[test]
    fn polygons_that_share_an_edge_leave_no_seam() {
        let [top, bottom] = [[30.7, -5.0], [52.1, 90.0]];
        let areas = areas(&[
            [[-10.0, -5.0], top, bottom, [-10.0, 90.0]],
            [top, [110.0, -5.0], [110.0, 90.0], bottom],
        ]);
        for area in areas.iter().flatten() {
            assert!((area - 1.0).abs() < 1e-4, "{area}");
        }
    }

    #[test]
    fn a_taken_row_is_empty() {
        let mut layer = Layer::new();
        layer.add(square([20.0, 20.0], 10.0, 0.0), INK);
        let mut line = [[0.0; 4]; WIDTH];
        layer.take_row(20, &mut line);
        assert_ne!(line, [[0.0; 4]; WIDTH]);
        layer.take_row(20, &mut line);
        assert_eq!(line, [[0.0; 4]; WIDTH]);
    }
}
