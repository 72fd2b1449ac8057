//! Resizing frames by area: each new pixel is the mean of what it covers.

/// Which old pixels a new one covers, and how much of each, in units that make these whole numbers.
#[derive(Clone, Debug)]
struct Span {
    start: usize,
    weights: Vec<i32>,
}

/// The spans of each new pixel along one axis, and what their weights add up to.
fn spans(from: usize, to: usize) -> (Vec<Span>, usize) {
    let unit = greatest_common_divisor(from, to);
    // In units of 1/to of an old pixel all borders are whole numbers.
    let (from, to) = (from / unit, to / unit);
    let span = |new: usize| {
        let (low, high) = (new * from, (new + 1) * from);
        let (start, end) = (low / to, high.div_ceil(to));
        let covered = |old: usize| high.min((old + 1) * to) - low.max(old * to);
        Span { start, weights: (start..end).map(|old| covered(old) as i32).collect() }
    };
    ((0..to * unit).map(span).collect(), from)
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Resizes frames `[height, width, channel]` of bytes from one size to another, with exact sums.
#[derive(Clone, Debug)]
pub(super) struct AreaResize {
    channels: usize,
    rows: Vec<Span>,
    columns: Vec<Span>,
    /// What the weights of a new pixel add up to.
    area: f64,
    /// Added to each sum before it is divided.
    bias: f64,
    /// A row of the new height and the old width.
    blended: Vec<i32>,
    /// A row of the new height and width.
    sums: Vec<i32>,
}

impl AreaResize {
    /// From and to `[height, width]`, none of which is 0; `None` when the frames are too large for
    /// the sums.
    pub(super) fn new(from: [usize; 2], to: [usize; 2], channels: usize) -> Option<Self> {
        let ((rows, row_area), (columns, column_area)) =
            (spans(from[0], to[0]), spans(from[1], to[1]));
        let greatest = row_area.checked_mul(column_area)?.checked_mul(255)?;
        i32::try_from(greatest).ok()?;
        // OpenCV rounds halves up where it halves both sides, and to even elsewhere.
        let halving = from[0] == 2 * to[0] && from[1] == 2 * to[1];
        Some(Self {
            channels,
            rows,
            columns,
            area: (row_area * column_area) as f64,
            bias: if halving { 0.5 } else { 0.0 },
            blended: vec![0; from[1] * channels],
            sums: vec![0; to[1] * channels],
        })
    }

    /// Resizes one frame.
    pub(super) fn apply(&mut self, from: &[u8], to: &mut [u8]) {
        let width = self.blended.len();
        for (rows, to) in self.rows.iter().zip(to.chunks_exact_mut(self.sums.len())) {
            self.blended.fill(0);
            let covered = from[rows.start * width..].chunks_exact(width);
            for (&weight, row) in rows.weights.iter().zip(covered) {
                for (sum, &value) in self.blended.iter_mut().zip(row) {
                    *sum += weight * i32::from(value);
                }
            }
            match self.channels {
                1 => blend_pixels::<1>(&self.columns, &self.blended, &mut self.sums),
                3 => blend_pixels::<3>(&self.columns, &self.blended, &mut self.sums),
                n => blend_channels(&self.columns, &self.blended, n, &mut self.sums),
            }
            for (level, &sum) in to.iter_mut().zip(&self.sums) {
                *level = round((f64::from(sum) + self.bias) / self.area);
            }
        }
    }
}

/// Sums the pixels of each span, of a number of channels that the compiler knows.
fn blend_pixels<const CHANNELS: usize>(spans: &[Span], row: &[i32], sums: &mut [i32]) {
    let (pixels, _) = row.as_chunks::<CHANNELS>();
    let (sums, _) = sums.as_chunks_mut::<CHANNELS>();
    for (span, sum) in spans.iter().zip(sums) {
        *sum = [0; CHANNELS];
        for (weight, pixel) in span.weights.iter().zip(&pixels[span.start..]) {
            sum.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += weight * value);
        }
    }
}

/// Sums the pixels of each span, of any number of channels.
fn blend_channels(spans: &[Span], row: &[i32], channels: usize, sums: &mut [i32]) {
    for (span, sum) in spans.iter().zip(sums.chunks_exact_mut(channels)) {
        sum.fill(0);
        let pixels = row[span.start * channels..].chunks_exact(channels);
        for (weight, pixel) in span.weights.iter().zip(pixels) {
            sum.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += weight * value);
        }
    }
}

/// The nearest byte to a mean of 0 to 255; halves go to the even one.
fn round(mean: f64) -> u8 {
    // Added to 2^52, a number below has its rounded value in its last bits. Unlike the rounding of
    // the standard library, this needs no instruction that older processors lack.
    const ROUND: f64 = 4_503_599_627_370_496.0;
    (mean + ROUND).to_bits() as u8
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
    fn white_stays_white_whatever_the_sizes() {
        for (from, to) in [([96, 96], [64, 64]), ([400, 600], [64, 63]), ([7, 5], [11, 3])] {
            assert!(resize(from, to, &vec![255; from[0] * from[1]]).iter().all(|&v| v == 255));
        }
    }

    #[test]
    fn frames_too_large_for_the_sums_are_refused() {
        assert!(AreaResize::new([4000, 4000], [63, 63], 3).is_none());
        assert!(AreaResize::new([2000, 4000], [63, 63], 3).is_some());
    }
}
