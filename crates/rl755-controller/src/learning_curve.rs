//! The learning curve of an evolution as a picture.

use serde::{Deserialize, Serialize};

use crate::canvas::{Canvas, Color};

/// A generation in a learning curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CurvePoint {
    /// Which generation, from 1.
    pub(crate) generation: u64,
    /// The best member's score.
    pub(crate) best: f64,
    /// The mean of all members' scores.
    pub(crate) mean: f64,
    /// Mean and standard deviation of an evaluation, where there was one.
    pub(crate) evaluation: Option<(f64, f64)>,
}

/// A PNG picture.
pub(crate) struct Picture {
    /// Height and width in pixels.
    pub(crate) size: [usize; 2],
    pub(crate) png: Vec<u8>,
}

const SIZE: [usize; 2] = [540, 960];
const BLACK: Color = [40, 40, 40];
const GREY: Color = [225, 225, 225];
const BEST: Color = [150, 190, 230];
const MEAN: Color = [30, 110, 200];
const EVALUATION: Color = [210, 60, 20];

/// Top, right and bottom of the plot in the picture; the labels of scores end its left.
const TOP: f64 = 50.0;
const RIGHT: f64 = 930.0;
const BOTTOM: f64 = 480.0;
/// Between a label of a score and the picture's edge or the plot.
const GAP: f64 = 10.0;
/// From a letter to the next.
const LETTER: f64 = 12.0;

/// Scores from here on are no scores: an evolution whose scores overflow is still drawn.
const LIMIT: f64 = 1e100;

/// Draws scores over generations: the best member, the mean of all members, and evaluations with
/// a standard deviation to either side. Scores that are not finite are left out.
pub(crate) fn draw(points: &[CurvePoint]) -> Picture {
    let mut canvas = Canvas::new(SIZE);
    let axes = Axes::around(points);
    for value in axes.score_ticks() {
        let y = axes.y(value);
        canvas.line((axes.left, y), (RIGHT, y), GREY);
        let label = axes.label(value);
        canvas.text((axes.left - GAP - LETTER * label.len() as f64, y - 7.0), &label, BLACK);
    }
    for generation in axes.generation_ticks() {
        let x = axes.x(generation);
        canvas.line((x, TOP), (x, BOTTOM), GREY);
        let label = format!("{generation}");
        canvas.text((x - LETTER / 2.0 * label.len() as f64, BOTTOM + 12.0), &label, BLACK);
    }
    canvas.text((axes.left, 16.0), "score", BLACK);
    canvas.text((RIGHT - 120.0, BOTTOM + 36.0), "generation", BLACK);

    let line = |canvas: &mut Canvas, score: fn(&CurvePoint) -> f64, color| {
        let place = |point| {
            let score = score(point);
            is_drawn(score).then(|| (axes.x(point.generation as f64), axes.y(score)))
        };
        for (index, here) in points.iter().map(place).enumerate() {
            let Some(here) = here else { continue };
            let before = index.checked_sub(1).and_then(|before| place(&points[before]));
            match (before, points.get(index + 1).and_then(place)) {
                (Some(before), _) => canvas.line(before, here, color),
                // Without neighbours there is no line that would show it.
                (None, None) => canvas.dot(here, color),
                (None, Some(_)) => {}
            }
        }
    };
    line(&mut canvas, |point| point.best, BEST);
    line(&mut canvas, |point| point.mean, MEAN);
    let mut before = None;
    for point in points {
        let Some((mean, std)) = point.evaluation else { continue };
        if !(is_drawn(mean - std) && is_drawn(mean + std)) {
            continue;
        }
        let (x, y) = (axes.x(point.generation as f64), axes.y(mean));
        canvas.line((x, axes.y(mean - std)), (x, axes.y(mean + std)), EVALUATION);
        canvas.line(before.unwrap_or((x, y)), (x, y), EVALUATION);
        canvas.dot((x, y), EVALUATION);
        before = Some((x, y));
    }
    let legend = [("best member", BEST), ("mean of members", MEAN), ("evaluation", EVALUATION)];
    for (place, (label, color)) in legend.into_iter().enumerate() {
        canvas.text((330.0 + 215.0 * place as f64, 16.0), label, color);
    }
    Picture { size: SIZE, png: canvas.png() }
}

/// Whether a score has a place in the picture; not a number has none.
fn is_drawn(score: f64) -> bool {
    score.abs() < LIMIT
}

/// How scores and generations lie in the picture.
struct Axes {
    generations: f64,
    /// Where the plot begins in the picture.
    left: f64,
    /// The lowest and the highest labelled score, in steps.
    low: f64,
    high: f64,
    /// Between two labelled scores.
    step: f64,
}

impl Axes {
    fn around(points: &[CurvePoint]) -> Self {
        let scores = points.iter().flat_map(|point| {
            let (mean, std) = point.evaluation.unwrap_or((point.mean, 0.0));
            [point.best, point.mean, mean - std, mean + std]
        });
        let (low, high) = scores
            .filter(|score| is_drawn(*score))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), s| (low.min(s), high.max(s)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        // Equal scores lie in the middle, and labels need no more than four digits.
        let least = (1e-3 * low.abs().max(high.abs())).max(1e-9);
        let margin =
            if low == high { low.abs().max(1.0) * 0.1 } else { (least - high + low).max(0.0) };
        let (low, high) = (low - margin, high + margin);
        let step = round_step((high - low) / 6.0);
        let mut axes = Self {
            generations: points.last().map_or(1.0, |point| point.generation as f64).max(2.0),
            left: 0.0,
            low: (low / step).floor(),
            high: (high / step).ceil(),
            step,
        };
        let longest = axes.score_ticks().map(|score| axes.label(score).len()).max().unwrap_or(0);
        axes.left = (2.0 * GAP + LETTER * longest as f64).max(80.0);
        axes
    }

    fn x(&self, generation: f64) -> f64 {
        self.left + (generation - 1.0) / (self.generations - 1.0) * (RIGHT - self.left)
    }

    fn y(&self, score: f64) -> f64 {
        BOTTOM - (score / self.step - self.low) / (self.high - self.low) * (BOTTOM - TOP)
    }

    fn score_ticks(&self) -> impl Iterator<Item = f64> + use<> {
        let (low, step) = (self.low, self.step);
        let count = (self.high - low) as usize;
        (0..=count).map(move |tick| (low + tick as f64) * step)
    }

    /// A labelled score with as many digits as tell it from its neighbours.
    fn label(&self, score: f64) -> String {
        // Logarithms of powers of ten may lie a rounding error below their whole number.
        let magnitude = |value: f64| (value.abs() * (1.0 + 1e-9)).log10().floor();
        let highest = self.low.abs().max(self.high.abs()) * self.step;
        if score == 0.0 {
            "0".to_owned()
        } else if highest >= 1e6 || self.step < 1e-3 {
            let digits = (magnitude(score) - magnitude(self.step)).max(0.0);
            format!("{score:.*e}", digits as usize)
        } else {
            format!("{score:.*}", (-magnitude(self.step)).max(0.0) as usize)
        }
    }

    fn generation_ticks(&self) -> impl Iterator<Item = f64> {
        let step = round_step(self.generations / 8.0).max(1.0);
        let count = (self.generations / step) as usize;
        std::iter::once(1.0)
            .chain((1..=count).map(move |tick| tick as f64 * step).filter(|g| *g > 1.0))
    }
}

/// The least of 1, 2 and 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|s| *s >= step)
        .unwrap_or(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(generation: u64, mean: f64) -> CurvePoint {
        let evaluation = generation.is_multiple_of(3).then_some((mean + 20.0, 30.0));
        CurvePoint { generation, best: mean + 50.0, mean, evaluation }
    }

    #[test]
    fn every_curve_is_drawn_within_the_frame() {
        let rising: Vec<_> = (1..40).map(|g| point(g, -30.0 + 15.0 * g as f64)).collect();
        let flat: Vec<_> = (1..4).map(|g| CurvePoint { best: 7.0, ..point(g, 7.0) }).collect();
        for points in [&rising[..], &rising[..1], &flat, &[]] {
            let axes = Axes::around(points);
            assert!(axes.high > axes.low && axes.step > 0.0);
            for point in points {
                let (x, y) = (axes.x(point.generation as f64), axes.y(point.best));
                assert!((axes.left..=RIGHT).contains(&x) && (TOP..=BOTTOM).contains(&y));
            }
            assert_eq!(draw(points).png, draw(points).png);
        }
        assert_ne!(draw(&rising).png, draw(&flat).png);
    }

    #[test]
    fn ticks_are_round_numbers() {
        for (step, expected) in [(0.9, 1.0), (1.1, 2.0), (37.0, 50.0), (0.023, 0.05), (60.0, 100.0)]
        {
            assert!((round_step(step) - expected).abs() < 1e-9, "{step}: {}", round_step(step));
        }
        let ticks: Vec<_> = Axes::around(&[point(1, 0.0), point(2, 130.0)]).score_ticks().collect();
        assert_eq!(ticks, [0.0, 50.0, 100.0, 150.0, 200.0]);
    }

    /// How many pixels of the plot have that colour, read back from the PNG.
    fn pixels_of(points: &[CurvePoint], color: Color) -> usize {
        let picture = draw(points);
        let mut reader = png::Decoder::new(std::io::Cursor::new(&picture.png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!([info.height as usize, info.width as usize], picture.size);
        // Without the legend above.
        pixels[SIZE[1] * 3 * 40..].chunks_exact(3).filter(|pixel| *pixel == color).count()
    }

    fn flat(generation: u64, score: f64) -> CurvePoint {
        CurvePoint { generation, best: score, mean: score, evaluation: None }
    }

    #[test]
    fn a_single_generation_shows_as_dots() {
        let points = [point(1, -30.0)];
        // Half of a dot of nine pixels at the least.
        assert!(pixels_of(&points, BEST) > 30 && pixels_of(&points, MEAN) > 30);
        assert_eq!(pixels_of(&points, EVALUATION), 0);
        assert!(pixels_of(&[point(3, -30.0)], EVALUATION) > 30);
    }

    #[test]
    fn equal_scores_lie_in_the_middle_between_labels_that_differ() {
        for score in [0.0, 7.0, -21.7, 1e-7, -1e12, 1e99] {
            let points = [flat(1, score), flat(2, score)];
            let axes = Axes::around(&points);
            assert!((TOP + 50.0..BOTTOM - 50.0).contains(&axes.y(score)), "{score}");
            let mut labels: Vec<_> = axes.score_ticks().map(|tick| axes.label(tick)).collect();
            let count = labels.len();
            labels.dedup();
            assert!((3..=12).contains(&count) && labels.len() == count, "{labels:?}");
            assert!(axes.left < 200.0, "{labels:?}");
            assert!(pixels_of(&points, MEAN) > 700, "{score}");
        }
    }

    #[test]
    fn labels_are_as_short_as_their_step_allows() {
        let labels = |low, high| {
            let axes = Axes::around(&[flat(1, low), flat(2, high)]);
            axes.score_ticks().map(|tick| axes.label(tick)).collect::<Vec<_>>()
        };
        assert_eq!(labels(-0.3, 0.1), ["-0.3", "-0.2", "-0.1", "0", "0.1"]);
        assert_eq!(labels(-6e6, 1e6), ["-6e6", "-4e6", "-2e6", "0", "2e6"]);
        assert_eq!(labels(900.0, 905.0), ["900", "901", "902", "903", "904", "905"]);
    }

    #[test]
    fn scores_that_are_not_finite_are_left_out() {
        let infinite = CurvePoint {
            generation: 2,
            best: f64::INFINITY,
            mean: f64::NAN,
            evaluation: Some((f64::NEG_INFINITY, f64::NAN)),
        };
        let points = [flat(1, 1.0), infinite.clone(), flat(3, 3.0), flat(4, 4.0)];
        // Generation 1 is a dot, 3 and 4 are a line a third of the plot long.
        assert!((250..1000).contains(&pixels_of(&points, MEAN)));
        assert_eq!(pixels_of(&[infinite], MEAN), 0);
        assert_eq!(pixels_of(&[flat(1, f64::MAX), flat(2, -f64::MAX)], MEAN), 0);
    }
}
