//! How often an action, or one element of it, has which value.

use rl755_env::Space;
use serde::Serialize;

use super::summary::Sums;

/// Bars for an element between two bounds.
const BINS: usize = 16;
/// The most indices that are counted one by one.
const MAX_INDICES: usize = 1024;
/// What an element without bounds is counted between.
const UNBOUNDED: f32 = 10.0;

/// How often one element of the actions has which value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActionHistogram {
    /// What is counted; an infinite bound of the space is 10 or -10 here.
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
    low: f32,
    high: f32,
    counts: Vec<u64>,
    below: u64,
    above: u64,
    sums: Sums,
    discrete: bool,
}

impl Counter {
    /// One for each element of the actions of `space`.
    pub(super) fn all_of(space: &Space) -> Vec<Self> {
        let discrete = matches!(space, Space::Discrete { .. });
        (0..space.width())
            .map(|element| {
                let (low, high) = space.bounds(element);
                let high = if discrete { high.min(MAX_INDICES as f32 - 1.0) } else { high };
                let (low, high) = (low.max(-f32::MAX), high.min(f32::MAX));
                let bounded =
                    |value: f32, instead| if value.abs() == f32::MAX { instead } else { value };
                let (low, high) = (bounded(low, -UNBOUNDED), bounded(high, UNBOUNDED));
                let bins = if discrete { high as usize + 1 } else { BINS };
                Self {
                    low,
                    high,
                    counts: vec![0; bins],
                    below: 0,
                    above: 0,
                    sums: Sums::default(),
                    discrete,
                }
            })
            .collect()
    }

    pub(super) fn add(&mut self, value: f32) {
        self.sums.add(f64::from(value));
        if value < self.low {
            self.below += 1;
        } else if value > self.high {
            self.above += 1;
        } else if self.discrete {
            self.counts[value as usize] += 1;
        } else {
            let part = f64::from(value - self.low) / f64::from(self.high - self.low);
            // The greatest value belongs to the last bar; where low is high, part is NaN and 0.
            let bin = (part * BINS as f64) as usize;
            self.counts[bin.min(BINS - 1)] += 1;
        }
    }

    pub(super) fn append(&mut self, later: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&later.counts) {
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
            &[-1.0, -1e30, -0.875, 0.0, 0.0, 9.99, 1.0, 10.0, -1.1, 11.0, 1.1, 1e38],
        )[..] else {
            panic!("two elements")
        };
        assert_eq!((bounded.low, bounded.high), (-1.0, 1.0));
        let mut counts = [0; BINS];
        (counts[0], counts[1], counts[8], counts[15]) = (1, 1, 1, 1);
        assert_eq!(bounded.counts, counts);
        assert_eq!((bounded.below, bounded.above), (1, 1));
        assert_eq!((unbounded.low, unbounded.high), (-10.0, 10.0));
        assert_eq!((unbounded.below, unbounded.above), (1, 2));
        assert_eq!(unbounded.counts.iter().sum::<u64>(), 3);
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
