//! The marks that sliding wheels leave. Pictures for people show them; observations do not.

use super::{box2d::math::Vec2, car::WHEELS};

/// Marks that are kept; the oldest goes first.
const MARKS: usize = 30;
/// Points of the longest mark.
const POINTS: usize = 30;

/// The line that a wheel left while it slid.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    places: [Vec2; POINTS],
    len: usize,
    pub(crate) on_grass: bool,
}

impl Mark {
    /// Where the wheel was, step by step, in metres.
    pub(crate) fn places(&self) -> &[Vec2] {
        &self.places[..self.len]
    }
}

/// A wheel's own mark, if it is sliding.
#[derive(Clone, Copy, Debug, Default)]
struct Slide {
    /// It has slid for one step, which alone leaves no mark.
    begun: bool,
    mark: Option<Ongoing>,
}

/// A mark that grows: which it is of all made so far, and its length, known after it is gone, too.
#[derive(Clone, Copy, Debug)]
struct Ongoing {
    number: usize,
    len: usize,
    on_grass: bool,
}

/// The marks of an episode.
#[derive(Clone, Debug)]
pub(crate) struct Skids {
    /// Mark `n` of all made is at `n % MARKS`.
    marks: Vec<Mark>,
    made: usize,
    slides: [Slide; WHEELS],
}

impl Skids {
    /// No marks, and room for those to come.
    pub(crate) fn new() -> Self {
        Self { marks: Vec::with_capacity(MARKS), made: 0, slides: Default::default() }
    }

    /// The marks, the oldest first.
    pub(crate) fn marks(&self) -> impl Iterator<Item = &Mark> {
        let (newer, older) = self.marks.split_at(self.made % MARKS);
        older.iter().chain(newer)
    }

    /// Tells that a wheel does not slide in this step.
    pub(crate) fn hold(&mut self, wheel: usize) {
        self.slides[wheel] = Slide::default();
    }

    /// Tells where a wheel slides in this step.
    pub(crate) fn slide(&mut self, wheel: usize, place: Vec2, on_grass: bool) {
        let slide = &mut self.slides[wheel];
        match &mut slide.mark {
            Some(mark) if mark.on_grass == on_grass && mark.len < POINTS => {
                // Gymnasium draws the oldest mark no more, but lets it grow.
                if self.made - mark.number <= MARKS {
                    let shown = &mut self.marks[mark.number % MARKS];
                    shown.places[mark.len] = place;
                    shown.len += 1;
                }
                mark.len += 1;
            }
            _ if !slide.begun => slide.begun = true,
            _ => {
                *slide = Slide {
                    begun: false,
                    mark: Some(Ongoing { number: self.made, len: 2, on_grass }),
                };
                let mark = Mark { places: [place; POINTS], len: 2, on_grass };
                if self.marks.len() < MARKS {
                    self.marks.push(mark);
                } else {
                    self.marks[self.made % MARKS] = mark;
                }
                self.made += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(skids: &Skids) -> Vec<usize> {
        skids.marks().map(|mark| mark.places().len()).collect()
    }

    #[test]
    fn a_mark_begins_with_the_second_step_and_ends_with_the_slide() {
        let mut skids = Skids::new();
        let place = |x: usize| Vec2::new(x as f32, 0.0);
        skids.slide(0, place(0), false);
        assert!(lengths(&skids).is_empty());
        skids.slide(0, place(1), false);
        skids.slide(0, place(2), false);
        assert_eq!(skids.marks().next().unwrap().places(), [place(1), place(1), place(2)]);
        // From the road to the grass it is another mark.
        for x in 3..6 {
            skids.slide(0, place(x), true);
        }
        skids.hold(0);
        skids.slide(0, place(9), true);
        assert_eq!(lengths(&skids), [3, 3]);
    }

    #[test]
    fn marks_are_of_bounded_length_and_the_last_thirty_are_kept() {
        let mut skids = Skids::new();
        for step in 0..40 {
            skids.slide(1, Vec2::new(step as f32, 0.0), false);
        }
        assert_eq!(lengths(&skids), [30, 10]);
        for _ in 0..35 {
            skids.hold(2);
            skids.slide(2, Vec2::new(0.0, 1.0), true);
            skids.slide(2, Vec2::new(0.0, 1.0), true);
        }
        assert_eq!(lengths(&skids), [2; 30]);
        // Wheel 1's mark grows on, out of sight.
        skids.slide(1, Vec2::new(0.0, 2.0), false);
        assert_eq!(lengths(&skids), [2; 30]);
    }
}
