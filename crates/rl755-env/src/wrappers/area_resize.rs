//! Resizing frames by area: each new pixel is the mean of what it covers.

/// Whole numbers up to this are exact as floats of 32 bits.
const EXACT_F32: usize = 1 << 24;
/// Means over more than this, in the units of the spans, would not be rounded exactly.
pub(super) const MAX_AREA: usize = 1 << 24;

/// Which old pixels a new one covers, and how much of each, in units that make these whole numbers.
#[derive(Clone, Debug)]
struct Span<W> {
    start: usize,
    weights: Vec<W>,
}

/// The spans of each new pixel along one axis, and what their weights add up to.
fn spans<W>(from: usize, to: usize, weight: fn(usize) -> W) -> (Vec<Span<W>>, usize) {
    let unit = greatest_common_divisor(from, to);
    // In units of 1/to of an old pixel all borders are whole numbers.
    let (from, to) = (from / unit, to / unit);
    let span = |new: usize| {
        let (low, high) = (new * from, (new + 1) * from);
        let (start, end) = (low / to, high.div_ceil(to));
        let covered = |old: usize| high.min((old + 1) * to) - low.max(old * to);
        Span { start, weights: (start..end).map(|old| weight(covered(old))).collect() }
    };
    ((0..to * unit).map(span).collect(), from)
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Resizes frames `[height, width, channel]` of bytes from one size to another.
///
/// All sums are of whole numbers, and exact: floats hold them because those multiply faster.
#[derive(Clone, Debug)]
pub(super) struct AreaResize {
    channels: usize,
    rows: Vec<Span<f32>>,
    columns: Vec<Span<f64>>,
    /// One over what the weights of a new pixel add up to.
    inverse_area: f64,
    /// Added to each sum before it is divided.
    bias: f64,
    /// A row of the new height and the old width.
    blended: Vec<f32>,
    /// A row of the new height and width.
    sums: Vec<f64>,
}

impl AreaResize {
    /// From and to `[height, width]`, none of which is 0; `None` when the frames are too large for
    /// the sums.
    pub(super) fn new(from: [usize; 2], to: [usize; 2], channels: usize) -> Option<Self> {
        let (rows, row_area) = spans(from[0], to[0], |weight| weight as f32);
        let (columns, column_area) = spans(from[1], to[1], |weight| weight as f64);
        let area = row_area.checked_mul(column_area)?;
        if row_area > EXACT_F32 / 255 || area > MAX_AREA {
            return None;
        }
        // OpenCV rounds halves up where it halves both sides, and to even elsewhere.
        let halving = from[0] == 2 * to[0] && from[1] == 2 * to[1];
        Some(Self {
            channels,
            rows,
            columns,
            inverse_area: 1.0 / area as f64,
            bias: if halving { 0.5 } else { 0.0 },
            blended: vec![0.0; from[1] * channels],
            sums: vec![0.0; to[1] * channels],
        })
    }

    /// Resizes one frame.
    pub(super) fn apply(&mut self, from: &[u8], to: &mut [u8]) {
        let width = self.blended.len();
        for (rows, to) in self.rows.iter().zip(to.chunks_exact_mut(self.sums.len())) {
            self.blended.fill(0.0);
            let covered = from[rows.start * width..].chunks_exact(width);
            for (&weight, row) in rows.weights.iter().zip(covered) {
                for (sum, &value) in self.blended.iter_mut().zip(row) {
                    *sum += weight * f32::from(value);
                }
            }
            match self.channels {
                1 => blend_pixels::<1>(&self.columns, &self.blended, &mut self.sums),
                3 => blend_pixels::<3>(&self.columns, &self.blended, &mut self.sums),
                n => blend_channels(&self.columns, &self.blended, n, &mut self.sums),
            }
            for (level, &sum) in to.iter_mut().zip(&self.sums) {
                *level = round((sum + self.bias) * self.inverse_area);
            }
        }
    }
}

/// Sums the pixels of each span, of a number of channels that the compiler knows.
fn blend_pixels<const CHANNELS: usize>(spans: &[Span<f64>], row: &[f32], sums: &mut [f64]) {
    let (pixels, _) = row.as_chunks::<CHANNELS>();
    let (sums, _) = sums.as_chunks_mut::<CHANNELS>();
    for (span, sum) in spans.iter().zip(sums) {
        // In registers until it is whole.
        let mut total = [0.0; CHANNELS];
        for (weight, pixel) in span.weights.iter().zip(&pixels[span.start..]) {
            total.iter_mut().zip(pixel).for_each(|(sum, &value)| *sum += weight * f64::from(value));
        }
        *sum = total;
    }
}

/// Sums the pixels of each span, of any number of channels.
fn blend_channels(spans: &[Span<f64>], row: &[f32], channels: usize, sums: &mut [f64]) {
    for (span, sum) in spans.iter().zip(sums.chunks_exact_mut(channels)) {
        sum.fill(0.0);
        let pixels = row[span.start * channels..].chunks_exact(channels);
        for (weight, pixel) in span.weights.iter().zip(pixels) {
            sum.iter_mut().zip(pixel).for_each(|(sum, &value)| *sum += weight * f64::from(value));
        }
    }
}

/// The nearest byte to a mean of 0 to 255 over at most [`MAX_AREA`]; halves go to the even one.
fn round(mean: f64) -> u8 {
    // Added to 2^22, a mean is rounded to a multiple of 2^-30. That mends a half which the
    // multiplication by the inverse missed, and makes nothing else one: other means are at least
    // 2^-25 away.
    const HALVES: f64 = 4_194_304.0;
    // Added to 2^52, it has its rounded value in its last bits; unlike the rounding of the standard
    // library, that needs no instruction that older processors lack.
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    (mean + HALVES - HALVES + WHOLE).to_bits() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resize(from: [usize; 2], to: [usize; 2], values: &[u8]) -> Vec<u8> {
        let channels = values.len() / (from[0] * from[1]);
        let mut resized = vec![77; to[0] * to[1] * channels];
        AreaResize::new(from, to, channels).unwrap().apply(values, &mut resized);
        resized
    }

    #[test]
    fn pixels_are_means_of_what_they_cover() {
        assert_eq!(resize([2, 2], [1, 1], &[1, 2, 3, 6]), [3]);
        // 3 to 2: the middle pixel is shared.
        assert_eq!(resize([1, 3], [1, 2], &[0, 3, 6]), [1, 5]);
        assert_eq!(resize([3, 1], [2, 1], &[0, 3, 6]), [1, 5]);
        // 2 to 3, two channels.
        assert_eq!(resize([1, 2], [1, 3], &[0, 2, 4, 2]), [0, 2, 2, 2, 4, 2]);
    }

    #[test]
    fn halves_go_up_when_halving_and_to_even_otherwise() {
        assert_eq!(resize([2, 2], [1, 1], &[0, 0, 1, 1]), [1]);
        assert_eq!(resize([2, 2], [1, 1], &[0, 0, 0, 1]), [0]);
        assert_eq!(resize([1, 2], [1, 1], &[0, 1]), [0]);
        assert_eq!(resize([1, 2], [1, 1], &[1, 2]), [2]);
    }

    #[test]
    fn every_mean_is_rounded_exactly() {
        for area in [2u32, 3, 9, 36, 64, 100, 144, 1875, 9215] {
            let (to_area, inverse) = (f64::from(area), 1.0 / f64::from(area));
            for sum in 0..=255 * area {
                let exact = (f64::from(sum) / to_area).round_ties_even() as u8;
                assert_eq!(round(f64::from(sum) * inverse), exact, "{sum} / {area}");
            }
        }
        let area = MAX_AREA as f64;
        for level in [0u8, 1, 100, 254] {
            let half = (f64::from(level) + 0.5) * area;
            let rounded = [half - 1.0, half, half + 1.0].map(|sum| round(sum / area));
            assert_eq!(rounded, [level, level + level % 2, level + 1]);
        }
    }

    #[test]
    fn white_stays_white_whatever_the_sizes() {
        for (from, to) in [([96, 96], [64, 64]), ([400, 600], [64, 63]), ([7, 5], [11, 3])] {
            assert!(resize(from, to, &vec![255; from[0] * from[1]]).iter().all(|&v| v == 255));
        }
    }

    #[test]
    fn frames_too_large_for_the_sums_are_refused() {
        assert!(AreaResize::new([5000, 4001], [63, 63], 3).is_none());
        assert!(AreaResize::new([4000, 4001], [63, 63], 3).is_some());
        assert!(AreaResize::new([70_001, 2], [63, 2], 3).is_none());
    }
}
