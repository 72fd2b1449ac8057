//! Splitting items into parts that are as even as possible.

use std::ops::Range;

/// The items of part `part` when `items` are split into `parts` contiguous parts, in order, whose
/// sizes differ by at most one (the larger ones first). Any counts will do: with more parts than
/// items, the last parts are empty.
///
/// # Panics
/// When `part` is not below `parts`.
pub(crate) fn partition(items: usize, parts: usize, part: usize) -> Range<usize> {
    assert!(part < parts, "part {part} of {parts}");
    let (size, larger) = (items / parts, items % parts);
    let start = |part: usize| part * size + part.min(larger);
    start(part)..start(part + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(items: usize, parts: usize) {
        let ranges: Vec<_> = (0..parts).map(|part| partition(items, parts, part)).collect();
        let covered: Vec<usize> = ranges.iter().cloned().flatten().collect();
        assert_eq!(covered, (0..items).collect::<Vec<_>>(), "{items} in {parts}");
        let sizes = || ranges.iter().map(ExactSizeIterator::len);
        assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1, "{items} in {parts}");
    }

    #[test]
    fn larger_parts_come_first() {
        assert_eq!([0, 1, 2].map(|part| partition(5, 3, part)), [0..2, 2..4, 4..5]);
    }

    #[test]
    fn parts_cover_everything_once_and_evenly() {
        // The first four are those that the original project got wrong.
        for (items, parts) in [(5, 3), (10, 8), (100, 30), (3, 5), (0, 4), (1, 1), (120, 12)] {
            check(items, parts);
        }
        for items in 0..40 {
            (1..40).for_each(|parts| check(items, parts));
        }
    }
}
