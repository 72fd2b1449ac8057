//! Filters of rows (ISO/IEC 15948, 9): what a row differs by from what is beside or above it.
//!
//! Drawn pictures, with areas of one colour, are smallest as they are, because rows repeat exactly.
//! Pictures with gradients and noise are smaller as differences.

use crate::{FrameError, FrameShape};

const NONE: u8 = 0;
const SUB: u8 = 1;
const UP: u8 = 2;
const AVERAGE: u8 = 3;
const PAETH: u8 = 4;

/// Appends the rows of `frame`, each with its filter's number in front and filtered by it.
pub(super) fn apply(shape: FrameShape, frame: &[u8], rows: &mut Vec<u8>) {
    if shape.row() == 0 {
        return;
    }
    let drawn = is_drawn(shape, frame);
    let before_first = vec![0; shape.row()];
    let mut above = &before_first[..];
    let mut candidate = Vec::with_capacity(shape.row());
    for row in frame.chunks_exact(shape.row()) {
        rows.push(NONE);
        let start = rows.len();
        rows.extend_from_slice(row);
        if !drawn {
            let mut least = u32::MAX;
            for filter in [SUB, UP, PAETH] {
                candidate.clear();
                filter_row(filter, shape.channels, row, above, &mut candidate);
                // The usual measure: differences around 0 compress well.
                let size = |&byte: &u8| u32::from(byte.min(byte.wrapping_neg()));
                let cost = candidate.iter().map(size).sum();
                if cost < least {
                    least = cost;
                    rows[start - 1] = filter;
                    rows[start..].copy_from_slice(&candidate);
                }
            }
        }
        above = row;
    }
}

/// Whether at least half of the samples are like the pixel's to the left; a row in eight tells.
fn is_drawn(shape: FrameShape, frame: &[u8]) -> bool {
    let (mut same, mut all) = (0, 0);
    for row in frame.chunks_exact(shape.row()).step_by(8) {
        let left = row.iter().zip(&row[shape.channels..]);
        same += left.map(|(a, b)| u32::from(a == b)).sum::<u32>() as usize;
        all += row.len();
    }
    same >= all / 2
}

fn filter_row(filter: u8, channels: usize, row: &[u8], above: &[u8], out: &mut Vec<u8>) {
    let (first, rest) = row.split_at(channels);
    match filter {
        SUB => {
            out.extend_from_slice(first);
            out.extend(rest.iter().zip(row).map(|(x, left)| x.wrapping_sub(*left)));
        }
        UP => out.extend(row.iter().zip(above).map(|(x, up)| x.wrapping_sub(*up))),
        _ => {
            out.extend(first.iter().zip(above).map(|(x, up)| x.wrapping_sub(*up)));
            let corners = row.iter().zip(&above[channels..]).zip(above);
            out.extend(
                rest.iter()
                    .zip(corners)
                    .map(|(x, ((&left, &up), &corner))| x.wrapping_sub(paeth(left, up, corner))),
            );
        }
    }
}

/// Writes the rows in `rows`, as [`apply`] gives them, to `frame`.
pub(super) fn undo(shape: FrameShape, rows: &[u8], frame: &mut [u8]) -> Result<(), FrameError> {
    let (width, channels) = (shape.row(), shape.channels);
    if width == 0 {
        return Ok(());
    }
    for (index, filtered) in rows.chunks_exact(1 + width).enumerate() {
        let (before, row) = frame.split_at_mut(index * width);
        let (filter, filtered) = (filtered[0], &filtered[1..]);
        let row = &mut row[..width];
        row.copy_from_slice(filtered);
        if filter == NONE {
            continue;
        }
        let above = index.checked_sub(1).map(|above| &before[above * width..]);
        // Above the first row there are zeros.
        let up = |x: usize| above.map_or(0, |above| above[x]);
        match filter {
            SUB => (channels..width).for_each(|x| row[x] = row[x].wrapping_add(row[x - channels])),
            UP => {
                if let Some(above) = above {
                    row.iter_mut().zip(above).for_each(|(x, up)| *x = x.wrapping_add(*up));
                }
            }
            AVERAGE => {
                for x in 0..width {
                    let left = x.checked_sub(channels).map_or(0, |left| row[left]);
                    row[x] = row[x].wrapping_add(left.midpoint(up(x)));
                }
            }
            PAETH => {
                for x in 0..width {
                    let (left, corner) =
                        x.checked_sub(channels).map_or((0, 0), |left| (row[left], up(left)));
                    row[x] = row[x].wrapping_add(paeth(left, up(x), corner));
                }
            }
            other => {
                return Err(FrameError::not_png(format!("row {index} has the filter {other}")));
            }
        }
    }
    Ok(())
}

/// Which of three neighbours is nearest to `left + up - corner` (9.4).
fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, up, corner].map(i16::from);
    let (to_left, to_up, to_corner) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
    if to_left <= to_up && to_left <= to_corner {
        left
    } else if to_up <= to_corner {
        up
    } else {
        corner
    }
}
