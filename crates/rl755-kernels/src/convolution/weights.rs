//! Weights in the orders that matrix products want.

use rayon::prelude::*;

use super::geometry::Geometry;

/// Rows that are turned around together: their numbers fill a cache line.
const LINE: usize = 16;

/// `[n, channel, kernel height, kernel width]` as `[n, kernel height, kernel width, channel]`.
pub(crate) fn pack(weight: &[f32], geometry: &Geometry) -> Vec<f32> {
    permute(weight, geometry, |channels, area| (area, channels))
}

/// The inverse of [`pack`].
pub(crate) fn unpack(taps: &[f32], geometry: &Geometry) -> Vec<f32> {
    permute(taps, geometry, |channels, area| (channels, area))
}

/// Transposes each row, of which `shape` says how many rows and columns it is to have.
fn permute(
    rows: &[f32],
    geometry: &Geometry,
    shape: impl Fn(usize, usize) -> (usize, usize),
) -> Vec<f32> {
    let (height, width) = shape(geometry.frame[2], geometry.kernel[0] * geometry.kernel[1]);
    let mut turned = vec![0.0; rows.len()];
    let each = turned.par_chunks_mut(height * width).zip(rows.par_chunks(height * width));
    each.for_each(|(to, from)| {
        for (i, to) in to.chunks_exact_mut(width).enumerate() {
            let from = from[i..].iter().step_by(height);
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
    });
    turned
}

/// `[n, channel, kernel height, kernel width]` as `[kernel height, kernel width, channel, n]`.
pub(crate) fn pack_transposed(weight: &[f32], n: usize, geometry: &Geometry) -> Vec<f32> {
    let (depth, channels) = (geometry.depth(), geometry.frame[2]);
    let area = depth / channels;
    let mut taps = vec![0.0; weight.len()];
    for (block, rows) in weight.chunks(LINE * depth).enumerate() {
        for at in 0..depth {
            let (channel, tap) = (at / area, at % area);
            let to = (tap * channels + channel) * n + block * LINE;
            let from = rows[at..].iter().step_by(depth);
            taps[to..].iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
    }
    taps
}
