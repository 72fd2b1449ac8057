//! How often an action, or one element of it, has which value.

use rl755_env::Space;
use serde::Serialize;

use super::summary::Sums;

/// Bars for an element between two bounds.
const BINS: usize = 16;
/// The most indices that are counted one by one.
const MAX_INDICES: usize = 1024;
/// How often one element of the actions has which value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActionHistogram {
    /// The least value that is counted: the space's bound. Where the space has none, it is the
    /// least power of two, from 1, that every value's size is below, with a minus.
    pub low: f32,
    /// The greatest value that is counted.
    pub high: f32,
    /// How many values there are in each of the equal parts of `low` to `high`. For a discrete
    /// space, how often each index was chosen, of the first 1,024.
    pub counts: Vec<u64>,
    /// Values below `low`.
    pub below: u64,
    /// Values above `high`.
    pub above: u64,
    /// The mean of all values.
    pub mean: f64,
    /// Their standard deviation.
    pub std_dev: f64,
}

/// A histogram while it is made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counter {
    range: Range,
    low: f32,
    high: f32,
    counts: Vec<u64>,
    below: u64,
    above: u64,
    sums: Sums,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Range {
    /// Bars for whole numbers.
    Discrete,
    /// Bars between the space's bounds.
    Bounded,
    /// Bars between a power of two and its opposite, which become twice as wide where they must.
    Growing,
}

impl Counter {
    /// One for each element of the actions of `space`.
    pub(super) fn all_of(space: &Space) -> Vec<Self> {
        let discrete = matches!(space, Space::Discrete { .. });
        (0..space.width())
            .map(|element| {
                let (range, low, high) = match space.bounds(element) {
                    (low, high) if discrete => {
                        (Range::Discrete, low, high.min(MAX_INDICES as f32 - 1.0))
                    }
                    (low, high) if low.is_finite() && high.is_finite() => {
                        (Range::Bounded, low, high)
                    }
                    _ => (Range::Growing, -1.0, 1.0),
                };
                let bins = if discrete { high as usize + 1 } else { BINS };
                let counts = vec![0; bins];
                Self { range, low, high, counts, below: 0, above: 0, sums: Sums::default() }
            })
            .collect()
    }

    pub(super) fn add(&mut self, value: f32) {
        self.sums.add(f64::from(value));
        if self.range == Range::Growing {
            // A value on the bound would be in another bar than if it came after they grew.
            while self.high <= value.abs() && self.can_grow() {
                self.grow();
            }
        }
        let [value, low, high] = [value, self.low, self.high].map(f64::from);
        if value < low {
            self.below += 1;
        } else if value > high {
            self.above += 1;
        } else if self.range == Range::Discrete {
            self.counts[value as usize] += 1;
        } else {
            // The greatest value belongs to the last bar; where low is high, this is NaN and bar 0.
            let bin = ((value - low) / (high - low) * BINS as f64) as usize;
            self.counts[bin.min(BINS - 1)] += 1;
        }
    }

    fn can_grow(&self) -> bool {
        (self.high * 2.0).is_finite()
    }

    /// Makes the bars twice as wide.
    fn grow(&mut self) {
        let mut counts = vec![0; BINS];
        for (i, pair) in self.counts.chunks(2).enumerate() {
            counts[BINS / 4 + i] = pair.iter().sum();
        }
        self.counts = counts;
        self.low *= 2.0;
        self.high *= 2.0;
    }

    pub(super) fn append(&mut self, mut later: Self) {
        if self.range == Range::Growing {
            while self.high < later.high {
                self.grow();
            }
            while later.high < self.high {
                later.grow();
            }
        }
        for (count, more) in self.counts.iter_mut().zip(later.counts) {
            *count += more;
        }
        self.below += later.below;
        self.above += later.above;
        self.sums.append(later.sums);
    }

    pub(super) fn finish(self) -> ActionHistogram {
        ActionHistogram {
            low: self.low,
            high: self.high,
            counts: self.counts,
            below: self.below,
            above: self.above,
            mean: self.sums.mean(),
            std_dev: self.sums.std_dev(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histograms(space: &Space, values: &[f32]) -> Vec<ActionHistogram> {
        let mut counters = Counter::all_of(space);
        for row in values.chunks(counters.len()) {
            counters.iter_mut().zip(row).for_each(|(counter, &value)| counter.add(value));
        }
        counters.into_iter().map(Counter::finish).collect()
    }

    #[test]
    fn each_value_of_a_box_is_in_its_bar() {
        let space =
            Space::Box { low: vec![-1.0, f32::NEG_INFINITY], high: vec![1.0, f32::INFINITY] };
        let [bounded, unbounded] = &histograms(
            &space,
            &[-1.0, -5.0, -0.875, 0.0, 0.0, 6.0, 1.0, 1.0, -1.1, 0.5, 1.1, -0.5],
        )[..] else {
            panic!("two elements")
        };
        assert_eq!((bounded.low, bounded.high), (-1.0, 1.0));
        let mut counts = [0; BINS];
        (counts[0], counts[1], counts[8], counts[15]) = (1, 1, 1, 1);
        assert_eq!(bounded.counts, counts);
        assert_eq!((bounded.below, bounded.above), (1, 1));
        assert_eq!((unbounded.low, unbounded.high), (-8.0, 8.0));
        let mut counts = [0; BINS];
        (counts[3], counts[7], counts[8], counts[9], counts[14]) = (1, 1, 2, 1, 1);
        assert_eq!(unbounded.counts, counts);
        let huge = &histograms(&space, &[0.0, f32::MAX, 0.0, -f32::MAX])[1];
        assert_eq!((huge.high, huge.below, huge.above), (2_f32.powi(127), 1, 1));
    }

    #[test]
    fn parts_of_different_ranges_are_added_up() {
        let space = Space::Box { low: vec![f32::NEG_INFINITY], high: vec![f32::INFINITY] };
        let values = [0.3, 1.0, -1.0, -0.7, 2.0, -2.0, 5.0, 0.1, 1.0, -3.0, -2.0, 40.0, 2.5, 64.0];
        let count = |values: &[f32]| {
            let mut counter = Counter::all_of(&space).remove(0);
            values.iter().for_each(|&value| counter.add(value));
            counter
        };
        for cut in 0..values.len() {
            let mut parts = count(&values[..cut]);
            parts.append(count(&values[cut..]));
            let (parts, whole) = (parts.finish(), count(&values).finish());
            assert_eq!((parts.counts, parts.high), (whole.counts, whole.high), "{cut}");
        }
        // Nor does their order matter.
        let (mut ascending, mut descending) = (values, values);
        ascending.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
        descending.sort_unstable_by(|a, b| b.abs().total_cmp(&a.abs()));
        let [ascending, descending] = [ascending, descending].map(|v| count(&v).finish());
        assert_eq!((ascending.counts, ascending.high), (descending.counts, 128.0));
    }

    #[test]
    fn indices_are_counted_one_by_one() {
        let [of_three] = &histograms(&Space::Discrete { n: 3 }, &[0.0, 2.0, 2.0, 3.0])[..] else {
            panic!("one element")
        };
        assert_eq!((&of_three.counts[..], of_three.above), (&[1, 0, 2][..], 1));
        assert_eq!(of_three.mean, 1.75);
        // A hostile count takes no memory.
        let many = histograms(&Space::Discrete { n: usize::MAX }, &[5.0, 2000.0]);
        assert_eq!((many[0].counts.len(), many[0].counts[5], many[0].above), (1024, 1, 1));
    }
}
