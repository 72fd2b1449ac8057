//! Which pixels `pygame.draw.polygon` fills.

use super::camera::WindowPoint;

/// The most corners of a polygon.
const CORNERS: usize = 8;

/// Calls `span` with the row, the first and the last column of each run of pixels that pygame
/// fills: from the pixel where an edge crosses a row, rounded down, to the one where the next does.
pub(super) fn polygon_spans(corners: &[WindowPoint], mut span: impl FnMut(i32, i32, i32)) {
    let rows = corners.iter().map(|corner| corner[1]);
    let (lowest, highest) = (rows.clone().min().unwrap_or(0), rows.max().unwrap_or(-1));
    for y in lowest..=highest {
        let mut crossings = [0; CORNERS];
        let mut count = 0;
        let mut previous = corners[corners.len() - 1];
        for &corner in corners {
            let (from, to) =
                if previous[1] < corner[1] { (previous, corner) } else { (corner, previous) };
            let within = from[1] <= y && y < to[1] || y == highest && to[1] == highest;
            if within && from[1] != to[1] {
                let rise = (y - from[1]) * (to[0] - from[0]);
                crossings[count] = from[0] + rise.div_euclid(to[1] - from[1]);
                count += 1;
            } else if from[1] == to[1] && lowest < y && y == from[1] && y < highest {
                // A level edge that the crossings miss when it is a lower border.
                span(y, from[0].min(to[0]), from[0].max(to[0]));
            }
            previous = corner;
        }
        crossings[..count].sort_unstable();
        for pair in crossings[..count].chunks_exact(2) {
            span(y, pair[0], pair[1]);
        }
        if lowest == highest {
            let columns = corners.iter().map(|c| c[0]);
            let (left, right) = (columns.clone().min(), columns.max());
            if let (Some(left), Some(right)) = (left, right) {
                span(y, left, right);
            }
        }
    }
}
