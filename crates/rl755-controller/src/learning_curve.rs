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

/// Left, top, right and bottom of the plot in the picture.
const FRAME: [f64; 4] = [80.0, 50.0, 930.0, 480.0];

/// Draws scores over generations: the best member, the mean of all members, and evaluations with
/// a standard deviation to either side.
pub(crate) fn draw(points: &[CurvePoint]) -> Picture {
    let mut canvas = Canvas::new(SIZE);
    let axes = Axes::around(points);
    let [left, top, right, bottom] = FRAME;
    for value in axes.score_ticks() {
        let y = axes.y(value);
        canvas.line((left, y), (right, y), GREY);
        let label = format!("{value}");
        canvas.text((left - 10.0 - 12.0 * label.len() as f64, y - 7.0), &label, BLACK);
    }
    for generation in axes.generation_ticks() {
        let x = axes.x(generation);
        canvas.line((x, top), (x, bottom), GREY);
        let label = format!("{generation}");
        canvas.text((x - 6.0 * label.len() as f64, bottom + 12.0), &label, BLACK);
    }
    canvas.text((left, 16.0), "score", BLACK);
    canvas.text((right - 120.0, bottom + 36.0), "generation", BLACK);

    let line = |canvas: &mut Canvas, score: fn(&CurvePoint) -> f64, color| {
        let mut before = None;
        for point in points {
            let here = (axes.x(point.generation as f64), axes.y(score(point)));
            canvas.line(before.unwrap_or(here), here, color);
            before = Some(here);
        }
    };
    line(&mut canvas, |point| point.best, BEST);
    line(&mut canvas, |point| point.mean, MEAN);
    let mut before = None;
    for point in points {
        let Some((mean, std)) = point.evaluation else { continue };
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

/// How scores and generations lie in the picture.
struct Axes {
    generations: f64,
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
            .filter(|score| score.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), s| (low.min(s), high.max(s)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let step = round_step((high - low).max(1e-6) / 6.0);
        Self {
            generations: points.last().map_or(1.0, |point| point.generation as f64).max(2.0),
            low: (low / step).floor() * step,
            high: ((high / step).ceil() * step).max((low / step).floor() * step + step),
            step,
        }
    }

    fn x(&self, generation: f64) -> f64 {
        let [left, _, right, _] = FRAME;
        left + (generation - 1.0) / (self.generations - 1.0) * (right - left)
    }

    fn y(&self, score: f64) -> f64 {
        let [_, top, _, bottom] = FRAME;
        bottom - (score - self.low) / (self.high - self.low) * (bottom - top)
    }

    fn score_ticks(&self) -> impl Iterator<Item = f64> {
        let (low, step) = (self.low, self.step);
        let count = ((self.high - low) / step).round() as usize;
        // Rounded, so that sums of the step are written without their error.
        (0..=count).map(move |tick| ((low + tick as f64 * step) * 1e6).round() / 1e6)
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
                assert!((FRAME[0]..=FRAME[2]).contains(&x) && (FRAME[1]..=FRAME[3]).contains(&y));
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
}
