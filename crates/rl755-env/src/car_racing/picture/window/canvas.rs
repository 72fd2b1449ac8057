//! A canvas of the window's size, with the drawing rules of pygame's `gfxdraw` and `draw`.

use super::super::{
    camera::{WINDOW_HEIGHT, WINDOW_WIDTH, WindowPoint},
    polygon_spans::polygon_spans,
};

pub(super) const WIDTH: usize = WINDOW_WIDTH as usize;
pub(super) const HEIGHT: usize = WINDOW_HEIGHT as usize;
/// The last column and row.
const LIMITS: WindowPoint = [WIDTH as i32 - 1, HEIGHT as i32 - 1];

type Color = [u8; 3];

/// The window's pixels, row by row.
pub(super) struct Canvas {
    pub(super) pixels: Vec<Color>,
}

impl Canvas {
    /// A black one.
    pub(super) fn new() -> Self {
        Self { pixels: vec![[0; 3]; WIDTH * HEIGHT] }
    }

    /// Turns the picture upside down.
    pub(super) fn flip(&mut self) {
        for row in 0..HEIGHT / 2 {
            let (above, below) = self.pixels.split_at_mut((HEIGHT - 1 - row) * WIDTH);
            above[row * WIDTH..(row + 1) * WIDTH].swap_with_slice(&mut below[..WIDTH]);
        }
    }

    /// Fills from column `left` to `right`, both included, what lies in the window.
    fn span(&mut self, y: i32, left: i32, right: i32, color: Color) {
        let (left, right) = (left.max(0), right.min(LIMITS[0]));
        if (0..=LIMITS[1]).contains(&y) && left <= right {
            let start = y as usize * WIDTH;
            self.pixels[start + left as usize..=start + right as usize].fill(color);
        }
    }

    /// Lays a colour over a pixel, if it is in the window; a weight of 255 is opaque.
    pub(super) fn blend(&mut self, [x, y]: WindowPoint, color: Color, weight: i32) {
        if !(0..=LIMITS[0]).contains(&x) || !(0..=LIMITS[1]).contains(&y) {
            return;
        }
        for (below, above) in self.pixels[y as usize * WIDTH + x as usize].iter_mut().zip(color) {
            let difference = i32::from(above) - i32::from(*below);
            *below = match weight {
                255 => above,
                weight => (i32::from(*below) + ((difference * weight) >> 8)) as u8,
            };
        }
    }

    /// `pygame.draw.polygon`.
    pub(super) fn polygon(&mut self, corners: &[WindowPoint], color: Color) {
        polygon_spans(corners, |y, left, right| self.span(y, left, right, color));
    }

    /// `gfxdraw.aapolygon` with `gfxdraw.filled_polygon` over it.
    pub(super) fn soft_polygon(&mut self, corners: [WindowPoint; 4], color: Color) {
        let beside = |axis: usize| {
            corners.iter().all(|c| c[axis] < -1)
                || corners.iter().all(|c| c[axis] > LIMITS[axis] + 1)
        };
        if beside(0) || beside(1) {
            return;
        }
        for i in 0..corners.len() {
            self.soft_line(corners[i], corners[(i + 1) % corners.len()], color);
        }
        let (lowest, highest) = extent(corners.map(|c| c[1]));
        for y in lowest.max(0)..=highest.min(LIMITS[1]) {
            let mut crossings = [0; 4];
            let mut count = 0;
            for (i, &corner) in corners.iter().enumerate() {
                let previous = corners[(i + 3) % 4];
                let (from, to) =
                    if previous[1] < corner[1] { (previous, corner) } else { (corner, previous) };
                let within = from[1] <= y && y < to[1] || y == highest && y == to[1];
                if within && from[1] < to[1] {
                    let part = 65536 * i64::from(y - from[1]) / i64::from(to[1] - from[1]);
                    crossings[count] =
                        part * i64::from(to[0] - from[0]) + 65536 * i64::from(from[0]);
                    count += 1;
                }
            }
            crossings[..count].sort_unstable();
            for pair in crossings[..count].chunks_exact(2) {
                let rounded = |place: i64| ((place + 32768) >> 16) as i32;
                let (left, right) = (rounded(pair[0] + 1), rounded(pair[1] - 1));
                self.span(y, left.min(right), left.max(right), color);
            }
        }
    }

    /// Wu's line, whose last pixel is left to the next line.
    fn soft_line(&mut self, from: WindowPoint, to: WindowPoint, color: Color) {
        let Some([from, to]) = clipped(from, to) else { return };
        let (top, bottom) = if from[1] > to[1] { (to, from) } else { (from, to) };
        let (dx, dy) = ((bottom[0] - top[0]).abs(), bottom[1] - top[1]);
        let step = if bottom[0] >= top[0] { 1 } else { -1 };
        if dx == 0 {
            (top[1]..=bottom[1]).for_each(|y| self.span(y, top[0], top[0], color));
            return;
        }
        if dy == 0 {
            self.span(top[1], top[0].min(bottom[0]), top[0].max(bottom[0]), color);
            return;
        }
        self.blend(from, color, 255);
        // The longer axis advances by pixels, the other one by a fraction of 32 bits.
        let steep = dy > dx;
        let (long, short) = if steep { (dy, dx) } else { (dx, dy) };
        let slope = ((short << 16) / long) as u32;
        let slope = slope.wrapping_shl(16);
        let [mut x, mut y] = top;
        let mut fraction = 0u32;
        for _ in 1..long {
            let before = fraction;
            fraction = fraction.wrapping_add(slope);
            let carry = i32::from(fraction <= before);
            let beside = if steep {
                x += step * carry;
                y += 1;
                [x + step, y]
            } else {
                y += carry;
                x += step;
                [x, y + 1]
            };
            let weight = (fraction >> 24) as i32;
            self.blend([x, y], color, (255 * (255 - weight)) >> 8);
            self.blend(beside, color, (255 * weight) >> 8);
        }
    }

    /// `pygame.draw.lines` of width 2, for one line.
    pub(super) fn line(&mut self, from: WindowPoint, to: WindowPoint, color: Color) {
        let Some([mut x, mut y]) = entry(from, to) else { return };
        let (dx, dy) = ((to[0] - from[0]).abs(), (to[1] - from[1]).abs());
        let step = [0, 1].map(|axis| if from[axis] < to[axis] { 1 } else { -1 });
        let mut error = (if dx > dy { dx } else { -dy }) / 2;
        loop {
            // It grows across its longer extent.
            if dx > dy {
                self.span(y, x, x, color);
                self.span(y + 1, x, x, color);
            } else {
                self.span(y, x, x + 1, color);
            }
            let ended = if dx > dy { x == to[0] } else { y == to[1] };
            if ended {
                return;
            }
            let before = error;
            if before > -dx {
                error -= dy;
                x += step[0];
            }
            if before < dy {
                error += dx;
                y += step[1];
            }
        }
    }
}

/// Where a line enters the window, or its beginning if that is inside; none if it passes by.
fn entry(from: WindowPoint, to: WindowPoint) -> Option<WindowPoint> {
    let (mut enters, mut leaves) = (0.0f64, 1.0f64);
    for (axis, size) in [WIDTH as i32, HEIGHT as i32].into_iter().enumerate() {
        let run = to[axis] - from[axis];
        if run == 0 {
            if !(0..=size).contains(&from[axis]) {
                return None;
            }
            continue;
        }
        let borders = [0, size].map(|border| f64::from(border - from[axis]) / f64::from(run));
        enters = enters.max(borders[0].min(borders[1]));
        leaves = leaves.min(borders[0].max(borders[1]));
    }
    let along =
        |axis: usize| from[axis] + (f64::from(to[axis] - from[axis]) * enters).round() as i32;
    (enters <= leaves).then(|| [along(0), along(1)])
}

fn extent(values: [i32; 4]) -> (i32, i32) {
    values.iter().fold((i32::MAX, i32::MIN), |(low, high), &v| (low.min(v), high.max(v)))
}

/// The part of a line within the window, cut in the order and precision of SDL_gfx; its ends may
/// have changed places.
fn clipped(mut from: WindowPoint, mut to: WindowPoint) -> Option<[WindowPoint; 2]> {
    /// Which borders a point lies beyond, the first that counts: axis and limit.
    fn beyond(point: WindowPoint) -> impl Iterator<Item = (usize, i32)> {
        let borders = [(0, 0), (0, LIMITS[0]), (1, LIMITS[1]), (1, 0)];
        borders.into_iter().filter(move |&(axis, limit)| match limit {
            0 => point[axis] < 0,
            limit => point[axis] > limit,
        })
    }
    loop {
        if beyond(from).any(|border| beyond(to).any(|other| border == other)) {
            return None;
        }
        if beyond(from).next().is_none() {
            std::mem::swap(&mut from, &mut to);
        }
        let Some((axis, limit)) = beyond(from).next() else { return Some([to, from]) };
        let [run, rise] = [0, 1].map(|axis| (to[axis] - from[axis]) as f32);
        let slope = if run == 0.0 { 1.0 } else { rise / run };
        let part = (limit - from[axis]) as f32;
        if axis == 0 {
            from[1] += (part * slope) as i32;
        } else if run != 0.0 {
            from[0] += (part / slope) as i32;
        }
        from[axis] = limit;
    }
}
