//! pygame's `smoothscale` for smaller pictures, with the roundings of its backend `GENERIC`.

/// 1 in the fixed point of weights.
const ONE: usize = 1 << 16;

/// Which pixels of a line make one of the shrunk line.
#[derive(Clone, Copy, Debug)]
struct Tap {
    first: usize,
    first_weight: u32,
    last: usize,
    last_weight: u32,
}

/// The taps of a line that shrinks from `from` to `to` pixels, and one over their width.
fn taps(from: usize, to: usize) -> (Vec<Tap>, u32) {
    let width = ONE * from / to;
    let (mut first, mut first_weight, mut left) = (0, ONE, width);
    let mut taps = Vec::with_capacity(to);
    for last in 0..from {
        if left > ONE {
            left -= ONE;
        } else {
            let (weight, last_weight) = (first_weight as u32, left as u32);
            taps.push(Tap { first, first_weight: weight, last, last_weight });
            (first, first_weight) = (last, ONE - left);
            left = width - first_weight;
        }
    }
    (taps, ((ONE * ONE) / width) as u32)
}

/// Shrinks a picture from `from` (width, height) to `to`, first along x, then along y.
///
/// # Panics
/// When the picture has another size.
pub(super) fn shrink(pixels: &[[u8; 3]], from: [usize; 2], to: [usize; 2]) -> Vec<[u8; 3]> {
    assert_eq!(pixels.len(), from[0] * from[1], "a picture of that size");
    let (columns, reciprocal) = taps(from[0], to[0]);
    let mut narrow = Vec::with_capacity(to[0] * from[1]);
    for row in pixels.chunks_exact(from[0]) {
        for tap in &columns {
            let mut sums = [0; 3];
            add(&mut sums, row[tap.first], tap.first_weight);
            for pixel in &row[tap.first + 1..tap.last] {
                add(&mut sums, *pixel, ONE as u32);
            }
            add(&mut sums, row[tap.last], tap.last_weight);
            narrow.push(mean(sums, reciprocal));
        }
    }
    let (rows, reciprocal) = taps(from[1], to[1]);
    let mut small = Vec::with_capacity(to[0] * to[1]);
    let mut sums = vec![[0; 3]; to[0]];
    for tap in rows {
        sums.fill([0; 3]);
        for index in tap.first..=tap.last {
            let weight = match index {
                i if i == tap.first => tap.first_weight,
                i if i == tap.last => tap.last_weight,
                _ => ONE as u32,
            };
            let row = &narrow[index * to[0]..(index + 1) * to[0]];
            for (sums, pixel) in sums.iter_mut().zip(row) {
                add(sums, *pixel, weight);
            }
        }
        small.extend(sums.iter().map(|sums| mean(*sums, reciprocal)));
    }
    small
}

fn add(sums: &mut [u32; 3], pixel: [u8; 3], weight: u32) {
    for (sum, level) in sums.iter_mut().zip(pixel) {
        *sum += (u32::from(level) * weight) >> 16;
    }
}

fn mean(sums: [u32; 3], reciprocal: u32) -> [u8; 3] {
    sums.map(|sum| ((sum * reciprocal) >> 16) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_of_one_colour_lose_what_pygames_do() {
        // Of the field, (102, 204, 102), Gymnasium's frames of 96×96 show (100, 202, 100).
        let small = shrink(&vec![[102, 204, 102]; 1000 * 800], [1000, 800], [96, 96]);
        assert_eq!(small.len(), 96 * 96);
        assert_eq!(small[40 * 96 + 40], [100, 202, 100]);
    }

    #[test]
    fn pixels_are_means_of_what_they_cover() {
        let ramp: Vec<[u8; 3]> = (0..40 * 4).map(|i| [(i % 40) as u8 * 6, 0, 255]).collect();
        let small = shrink(&ramp, [40, 4], [16, 2]);
        for (column, pixel) in small[..16].iter().enumerate() {
            let middle = (column as f32 + 0.5) * 2.5 - 0.5;
            assert!((f32::from(pixel[0]) - 6.0 * middle).abs() < 4.0, "{column}: {pixel:?}");
            assert!(pixel[1] == 0 && pixel[2] >= 252);
        }
    }
}
