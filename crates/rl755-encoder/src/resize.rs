//! Resizing frames by area: each new pixel is the mean of what it covers.

/// Which old pixels a new one covers, and how much of it each makes up. The weights add up to 1.
#[derive(Clone, Debug)]
struct Span {
    start: usize,
    weights: Vec<f32>,
}

fn spans(from: usize, to: usize) -> Vec<Span> {
    // In units of 1/to of an old pixel all borders are whole numbers.
    let span = |new: usize| {
        let (low, high) = (new * from, (new + 1) * from);
        let (start, end) = (low / to, high.div_ceil(to));
        let covered = |old: usize| high.min((old + 1) * to) - low.max(old * to);
        let weights = (start..end).map(|old| (covered(old) as f64 / from as f64) as f32);
        Span { start, weights: weights.collect() }
    };
    (0..to).map(span).collect()
}

/// Resizes frames `[height, width, channel]` from one size to another.
#[derive(Clone, Debug)]
pub(crate) struct AreaResize {
    from_width: usize,
    channels: usize,
    rows: Vec<Span>,
    columns: Vec<Span>,
}

impl AreaResize {
    /// From and to `[height, width]`.
    pub(crate) fn new(from: [usize; 2], to: [usize; 2], channels: usize) -> Self {
        let (rows, columns) = (spans(from[0], to[0]), spans(from[1], to[1]));
        Self { from_width: from[1], channels, rows, columns }
    }

    /// Resizes one frame and multiplies it by `factor`.
    pub(crate) fn apply<T: Copy + Into<f32>>(&self, from: &[T], factor: f32, to: &mut [f32]) {
        let (width, channels) = (self.from_width * self.channels, self.channels);
        let mut blended = vec![0.0; width];
        let rows_out = to.chunks_exact_mut(self.columns.len() * channels);
        for (rows, to) in self.rows.iter().zip(rows_out) {
            blended.fill(0.0);
            for (row, weight) in rows.weights.iter().enumerate() {
                let weight = weight * factor;
                let row = &from[(rows.start + row) * width..][..width];
                for (sum, &value) in blended.iter_mut().zip(row) {
                    let value: f32 = value.into();
                    *sum += weight * value;
                }
            }
            for (span, to) in self.columns.iter().zip(to.chunks_exact_mut(channels)) {
                to.fill(0.0);
                let pixels = blended[span.start * channels..].chunks_exact(channels);
                for (weight, pixel) in span.weights.iter().zip(pixels) {
                    to.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += weight * value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resize(from: [usize; 2], to: [usize; 2], values: &[f32]) -> Vec<f32> {
        let channels = values.len() / (from[0] * from[1]);
        let mut resized = vec![f32::NAN; to[0] * to[1] * channels];
        AreaResize::new(from, to, channels).apply(values, 1.0, &mut resized);
        resized
    }

    #[test]
    fn pixels_are_means_of_what_they_cover() {
        assert_eq!(resize([2, 2], [1, 1], &[1.0, 2.0, 3.0, 6.0]), [3.0]);
        // 3 to 2: the middle pixel is shared.
        assert_eq!(resize([1, 3], [1, 2], &[0.0, 3.0, 6.0]), [1.0, 5.0]);
        assert_eq!(resize([3, 1], [2, 1], &[0.0, 3.0, 6.0]), [1.0, 5.0]);
        // 2 to 3, two channels.
        assert_eq!(resize([1, 2], [1, 3], &[0.0, 2.0, 4.0, 2.0]), [0.0, 2.0, 2.0, 2.0, 4.0, 2.0]);
    }

    #[test]
    fn an_even_frame_stays_even_and_the_mean_stays() {
        assert!(resize([96, 96], [64, 64], &[0.7; 96 * 96]).iter().all(|v| (v - 0.7).abs() < 1e-6));
        let values: Vec<f32> = (0..96 * 80).map(|i| (i * i % 251) as f32).collect();
        let mean = |v: &[f32]| v.iter().map(|&v| f64::from(v)).sum::<f64>() / v.len() as f64;
        let resized = resize([96, 80], [64, 64], &values);
        assert!((mean(&values) - mean(&resized)).abs() < 1e-3);
    }
}
