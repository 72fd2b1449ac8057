//! Which steps of an episode are in the transformer's context, and which windows before it can be
//! retrieved.

use std::ops::Range;

/// How an episode is cut up. Steps are counted from the episode's first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Steps in a full context.
    pub(super) context: usize,
    /// Steps that a full context forgets at once, from 1 to `context`.
    pub(super) slide: usize,
    /// Steps in a window.
    pub(super) window: usize,
    /// Steps from a window's beginning to the next one's.
    pub(super) stride: usize,
    /// Windows that are remembered, the newest ones.
    pub(super) most_windows: usize,
}

impl Cut {
    /// The first step that the transformer sees at `step`.
    pub(super) fn first(&self, step: usize) -> usize {
        if step < self.context {
            return 0;
        }
        ((step - self.context) / self.slide + 1) * self.slide
    }

    /// How often the context has moved on in an episode of `length` steps.
    pub(super) fn slides(&self, length: usize) -> usize {
        length.saturating_sub(self.context).div_ceil(self.slide)
    }

    /// How many windows lie before `step` altogether.
    pub(super) fn windows_before(&self, step: usize) -> usize {
        if step < self.window { 0 } else { (step - self.window) / self.stride + 1 }
    }

    /// The windows that can be retrieved when the context begins at `first`: they lie before it.
    pub(super) fn retrievable(&self, first: usize) -> Range<usize> {
        let end = self.windows_before(first);
        end.saturating_sub(self.most_windows)..end
    }
}

/// The scores that are among the `count` largest, of equal ones the first.
pub(super) fn top(scores: &[f32], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    if count < order.len() && count > 0 {
        order.select_nth_unstable_by(count - 1, |&a, &b| {
            scores[b].total_cmp(&scores[a]).then(a.cmp(&b))
        });
    }
    order.truncate(count);
    order.sort_unstable();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: Cut = Cut { context: 6, slide: 2, window: 3, stride: 2, most_windows: 2 };

    #[test]
    fn contexts_move_on_as_the_transformer_s_do() {
        let first: Vec<usize> = (0..11).map(|step| CUT.first(step)).collect();
        assert_eq!(first, [0, 0, 0, 0, 0, 0, 2, 2, 4, 4, 6]);
        assert_eq!([0, 6, 7, 8, 9].map(|length| CUT.slides(length)), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn windows_lie_before_the_context() {
        // Windows begin at 0, 2, 4, and so on.
        let windows = [2, 3, 4, 5, 7, 9].map(|first| CUT.retrievable(first));
        assert_eq!(windows, [0..0, 0..1, 0..1, 0..2, 1..3, 2..4]);
    }

    #[test]
    fn the_largest_scores_are_taken() {
        let scores = [1.0, 3.0, -1.0, 3.0, 2.0];
        assert_eq!(
            [1, 2, 3, 9].map(|count| top(&scores, count)),
            [vec![1], vec![1, 3], vec![1, 3, 4], vec![0, 1, 2, 3, 4]]
        );
        assert!(top(&[], 2).is_empty());
    }
}
