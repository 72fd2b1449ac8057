//! What several rounds came to: median, spread, and ratios between programs.

use serde::Deserialize;

/// What a program did in one round.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Round {
    pub(crate) steps: u64,
    pub(crate) seconds: f64,
    /// Episodes begun in it.
    pub(crate) resets: u64,
    /// Who used the processor meanwhile; known on Linux only.
    #[serde(skip)]
    pub(crate) usage: Option<Usage>,
}

/// How many cores were at work, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usage {
    /// For the program and the processes that it started.
    pub(crate) own: f64,
    /// For all others.
    pub(crate) others: f64,
}

/// The rounds of one program, in the order in which they were run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rounds(pub(crate) Vec<Round>);

impl Rounds {
    /// Steps per second of each.
    fn rates(&self) -> Vec<f64> {
        self.0.iter().map(|round| round.steps as f64 / round.seconds).collect()
    }

    /// Median steps per second.
    pub(crate) fn median(&self) -> f64 {
        median(self.rates())
    }

    /// The least and the most steps per second.
    pub(crate) fn spread(&self) -> (f64, f64) {
        let rates = self.rates();
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        (least, rates.into_iter().fold(0.0, f64::max))
    }

    /// How many times as fast this is as `other`: the median over the rounds that were run one
    /// after another, so that a machine that slows down for a while does not shift it.
    pub(crate) fn over(&self, other: &Self) -> f64 {
        median(self.rates().into_iter().zip(other.rates()).map(|(a, b)| a / b).collect())
    }

    /// How many cores worked for the program: the median of its rounds.
    pub(crate) fn cores_used(&self) -> Option<f64> {
        let used: Vec<f64> = self.0.iter().filter_map(|round| Some(round.usage?.own)).collect();
        (!used.is_empty()).then(|| median(used))
    }

    /// How many cores worked for other programs, in each round of which that is known.
    pub(crate) fn others(&self) -> impl Iterator<Item = f64> {
        self.0.iter().filter_map(|round| Some(round.usage?.others))
    }

    /// Episodes begun per thousand steps, over all rounds.
    pub(crate) fn resets_per_thousand(&self) -> f64 {
        let steps: u64 = self.0.iter().map(|round| round.steps).sum();
        let resets: u64 = self.0.iter().map(|round| round.resets).sum();
        1000.0 * resets as f64 / steps as f64
    }
}

/// The middle value, or the mean of the two in the middle; NaN of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(rates: &[u64]) -> Rounds {
        let round = |&rate| Round { steps: 2 * rate, seconds: 2.0, resets: 3, usage: None };
        Rounds(rates.iter().map(round).collect())
    }

    #[test]
    fn medians_take_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(vec![]).is_nan());
    }

    #[test]
    fn rounds_are_summed_up() {
        let rounds = rounds(&[100, 300, 200]);
        assert_eq!((rounds.median(), rounds.spread()), (200.0, (100.0, 300.0)));
        assert_eq!(rounds.resets_per_thousand(), 7.5);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // A machine at half its speed in the last two rounds: 10 times as fast all the same.
        let (ours, peer) = (rounds(&[1000, 500, 500]), rounds(&[100, 50, 50]));
        assert_eq!(ours.over(&peer), 10.0);
        assert_eq!(rounds(&[30, 40, 10]).over(&rounds(&[10, 10, 10])), 3.0);
    }
}
