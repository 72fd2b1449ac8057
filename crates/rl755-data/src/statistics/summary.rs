//! Numbers that describe a set of numbers.

use serde::Serialize;

/// How a set of numbers is distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, of the numbers themselves rather than of what they are drawn from.
    pub std_dev: f64,
    /// The least number.
    pub min: f64,
    /// What a quarter, a half and three quarters of the numbers are not above; between two numbers
    /// where the part falls between them.
    pub quartiles: [f64; 3],
    /// The greatest number.
    pub max: f64,
}

impl Summary {
    /// Of `values`, all 0 where there are none.
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * (sorted.len() - 1) as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Self {
            mean,
            std_dev: variance.sqrt(),
            min: at(0.0),
            quartiles: [at(0.25), at(0.5), at(0.75)],
            max: at(1.0),
        }
    }
}

/// Sums of numbers that come one after another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    count: u64,
    sum: f64,
    squares: f64,
}

impl Sums {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    pub(super) fn append(&mut self, later: Self) {
        self.count += later.count;
        self.sum += later.sum;
        self.squares += later.squares;
    }

    pub(super) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// The standard deviation of the numbers themselves.
    pub(super) fn std_dev(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        (self.squares / self.count as f64 - self.mean().powi(2)).max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_numpy_s() {
        // numpy.mean, std and percentile([0, 25, 50, 75, 100]) of these numbers.
        let summary = Summary::of(&[3.0, -1.0, 4.0, 1.5, 9.0, 2.5]);
        assert!((summary.mean - 3.166_666_666_666_666_5).abs() < 1e-12);
        assert!((summary.std_dev - 3.036_811_193_048_1).abs() < 1e-12);
        assert_eq!(summary.quartiles, [1.75, 2.75, 3.75]);
        assert_eq!((summary.min, summary.max), (-1.0, 9.0));
        assert_eq!(Summary::of(&[]), Summary::default());
        assert_eq!(Summary::of(&[2.0]).quartiles, [2.0; 3]);
    }

    #[test]
    fn sums_give_mean_and_deviation_whatever_the_parts() {
        let mut parts = [Sums::default(); 2];
        for (i, value) in [3.0, -1.0, 4.0, 1.5, 9.0, 2.5].into_iter().enumerate() {
            parts[i / 4].add(value);
        }
        let [mut all, later] = parts;
        all.append(later);
        assert!((all.mean() - 3.166_666_666_666_666_5).abs() < 1e-12);
        assert!((all.std_dev() - 3.036_811_193_048_1).abs() < 1e-12);
    }
}
