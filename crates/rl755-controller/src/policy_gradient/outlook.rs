//! What a network makes of a batch, and sums over its rows that are the same on any number of threads.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, Axis, Slice};
use rayon::prelude::*;

/// Rows that are worth a thread.
const PART: usize = 256;

/// Parts of a batch at most, each of which has a gradient of its own in memory.
pub(super) const MOST_PARTS: usize = 32;

/// What a policy makes of a batch of observations. The batch is cut into parts that depend on its size
/// alone, and sums are taken in their order, so that the number of threads changes no bit.
pub(crate) struct Outlook<'a> {
    pub(super) parameters: &'a [f64],
    /// `[row, observation]`.
    pub(super) observations: ArrayView2<'a, f64>,
    parts: Vec<Part>,
}

/// Some rows of a batch.
pub(crate) struct Part {
    pub(super) rows: Range<usize>,
    /// What each layer gives for them.
    pub(super) values: Vec<Array2<f64>>,
}

impl Part {
    /// The network's outputs, row by row.
    pub(super) fn outputs(&self) -> impl Iterator<Item = &[f64]> {
        let outputs = self.values.last().expect("a network has a layer");
        outputs.rows().into_iter().map(|row| row.to_slice().expect(STANDARD))
    }

    /// Its rows of the batch.
    pub(super) fn inputs<'a>(&self, observations: ArrayView2<'a, f64>) -> ArrayView2<'a, f64> {
        rows_of(observations, &self.rows)
    }
}

impl<'a> Outlook<'a> {
    /// What the layers of a network with these `parameters` give, by `forward`.
    pub(super) fn new(
        parameters: &'a [f64],
        observations: ArrayView2<'a, f64>,
        forward: impl Fn(ArrayView2<'_, f64>) -> Vec<Array2<f64>> + Send + Sync,
    ) -> Self {
        let part = |rows: Range<usize>| {
            let values = forward(rows_of(observations, &rows));
            Part { rows, values }
        };
        let parts = in_order(parts(observations.nrows()), part);
        Self { parameters, observations, parts }
    }

    /// A number for each row, from its index and outputs.
    pub(super) fn per_row(&self, number: impl Fn(usize, &[f64]) -> f64 + Send + Sync) -> Vec<f64> {
        let part = |part: &Part| -> Vec<f64> {
            let outputs = part.rows.clone().zip(part.outputs());
            outputs.map(|(row, outputs)| number(row, outputs)).collect()
        };
        in_order(self.parts.iter().collect(), part).concat()
    }

    /// A number for each row, from its outputs here and by `other` parameters.
    pub(super) fn per_row_with(
        &self,
        other: &Outlook<'_>,
        number: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync,
    ) -> Vec<f64> {
        let part = |(part, other): (&Part, &Part)| -> Vec<f64> {
            part.outputs().zip(other.outputs()).map(|(own, other)| number(own, other)).collect()
        };
        in_order(self.parts.iter().zip(&other.parts).collect(), part).concat()
    }

    /// The sum of what `part` gives for each part.
    pub(super) fn sum(&self, part: impl Fn(&Part) -> Vec<f64> + Send + Sync) -> Vec<f64> {
        let mut sums = in_order(self.parts.iter().collect(), part).into_iter();
        let mut total = sums.next().unwrap_or_default();
        for sum in sums {
            total.iter_mut().zip(sum).for_each(|(total, own)| *total += own);
        }
        total
    }
}

/// Why rows of matrices that were just made are slices.
pub(super) const STANDARD: &str = "matrices in standard layout";

fn rows_of<'a>(matrix: ArrayView2<'a, f64>, rows: &Range<usize>) -> ArrayView2<'a, f64> {
    matrix.slice_axis_move(Axis(0), Slice::from(rows.clone()))
}

/// The parts of so many rows.
fn parts(rows: usize) -> Vec<Range<usize>> {
    let size = rows.div_ceil(MOST_PARTS).max(PART);
    (0..rows).step_by(size).map(|begin| begin..(begin + size).min(rows)).collect()
}

/// What `work` gives for each part, in their order.
fn in_order<P: Send, T: Send>(parts: Vec<P>, work: impl Fn(P) -> T + Send + Sync) -> Vec<T> {
    // Minibatches are not worth waking threads for, and a pool of one thread would have this one wait
    // for another, which is woken on whichever core.
    if parts.len() < 2 || rayon::current_num_threads() == 1 {
        parts.into_iter().map(work).collect()
    } else {
        parts.into_par_iter().map(work).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_batch_are_bounded_in_number() {
        for rows in [0, 1, 255, 256, 257, 5000, 8192, 8193, 1_000_000] {
            let parts = parts(rows);
            assert!(parts.len() <= MOST_PARTS);
            assert_eq!(parts.iter().map(ExactSizeIterator::len).sum::<usize>(), rows);
        }
    }
}
