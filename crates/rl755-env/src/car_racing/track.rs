//! Track generation, in double precision and the order of operations of Gymnasium's
//! `CarRacing._create_track`.

use std::f64::consts::PI;

use crate::numpy::NumpyRng;

/// World units per unit of the track's design.
const SCALE: f64 = 6.0;
/// The track is a heavily morphed circle of this radius.
const TRACK_RADIUS: f64 = 900.0 / SCALE;
/// Half of the field's side: beyond it an episode ends.
pub(crate) const PLAYFIELD: f64 = 2000.0 / SCALE;
/// Distance between track points.
const DETAIL_STEP: f64 = 21.0 / SCALE;
/// Most that the track turns from point to point, in radians.
const TURN_RATE: f64 = 0.31;
/// Half of the road's width.
pub(crate) const TRACK_WIDTH: f64 = 40.0 / SCALE;
/// The kerb's width.
pub(crate) const BORDER: f64 = 8.0 / SCALE;
/// Hard turns in a row before a kerb is laid.
const BORDER_MIN_COUNT: usize = 4;
const CHECKPOINTS: usize = 12;
/// The polar angle at which a lap begins.
const START_ALPHA: f64 = 2.0 * PI * -0.5 / CHECKPOINTS as f64;
/// Points after which a track that never closes is given up.
const MAX_POINTS: usize = 2500;

/// A point of the road's centre line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackPoint {
    /// Polar angle of the place, in radians.
    pub alpha: f64,
    /// Heading, in radians; 0 is along the y axis, and left turns add.
    pub beta: f64,
    /// Metres.
    pub x: f64,
    /// Metres.
    pub y: f64,
}

/// Draws tracks until one closes, going on with the same random stream.
pub(crate) fn generate(rng: &mut NumpyRng) -> Vec<TrackPoint> {
    loop {
        if let Some(track) = attempt(rng) {
            return track;
        }
    }
}

/// One attempt: a closed loop from start to start, or none.
fn attempt(rng: &mut NumpyRng) -> Option<Vec<TrackPoint>> {
    let points = drive(&checkpoints(rng));
    close(&points)
}

/// Where the track heads for: polar angle, x, y.
#[derive(Clone, Copy, Debug)]
struct Checkpoint {
    alpha: f64,
    x: f64,
    y: f64,
}

fn checkpoints(rng: &mut NumpyRng) -> [Checkpoint; CHECKPOINTS] {
    let count = CHECKPOINTS as f64;
    std::array::from_fn(|c| {
        // Both draws are made for each checkpoint, though the first and the last ignore them.
        let noise = rng.uniform(0.0, 2.0 * PI / count);
        let drawn_radius = rng.uniform(TRACK_RADIUS / 3.0, TRACK_RADIUS);
        let regular = 2.0 * PI * c as f64 / count;
        let (alpha, radius) = match c {
            0 => (0.0, 1.5 * TRACK_RADIUS),
            c if c == CHECKPOINTS - 1 => (regular, 1.5 * TRACK_RADIUS),
            _ => (regular + noise, drawn_radius),
        };
        Checkpoint { alpha, x: radius * alpha.cos(), y: radius * alpha.sin() }
    })
}

/// Drives from checkpoint to checkpoint for more than four laps.
fn drive(checkpoints: &[Checkpoint; CHECKPOINTS]) -> Vec<TrackPoint> {
    let (mut x, mut y, mut beta) = (1.5 * TRACK_RADIUS, 0.0f64, 0.0f64);
    let mut target = 0;
    let mut laps = 0;
    let mut visited_other_side = false;
    let mut points = Vec::with_capacity(MAX_POINTS);
    while points.len() < MAX_POINTS && laps <= 4 {
        let mut alpha = y.atan2(x);
        if visited_other_side && alpha > 0.0 {
            laps += 1;
            visited_other_side = false;
        }
        if alpha < 0.0 {
            visited_other_side = true;
            alpha += 2.0 * PI;
        }
        let (destination, alpha) = next_checkpoint(checkpoints, &mut target, alpha);

        let (heading_x, heading_y) = (beta.cos(), beta.sin());
        // The road runs across this vector.
        let (along_x, along_y) = (-heading_y, heading_x);
        let mut projection = heading_x * (destination.x - x) + heading_y * (destination.y - y);
        while beta - alpha > 1.5 * PI {
            beta -= 2.0 * PI;
        }
        while beta - alpha < -1.5 * PI {
            beta += 2.0 * PI;
        }
        let previous_beta = beta;
        projection *= SCALE;
        if projection > 0.3 {
            beta -= TURN_RATE.min((0.001 * projection).abs());
        }
        if projection < -0.3 {
            beta += TURN_RATE.min((0.001 * projection).abs());
        }
        x += along_x * DETAIL_STEP;
        y += along_y * DETAIL_STEP;
        points.push(TrackPoint { alpha, beta: previous_beta * 0.5 + beta * 0.5, x, y });
    }
    points
}

/// The first checkpoint, from the last target on, that is ahead of `alpha`; and `alpha` less the
/// turns that had to be taken off it to find one.
fn next_checkpoint(
    checkpoints: &[Checkpoint; CHECKPOINTS],
    target: &mut usize,
    mut alpha: f64,
) -> (Checkpoint, f64) {
    loop {
        loop {
            let checkpoint = checkpoints[*target % CHECKPOINTS];
            if alpha <= checkpoint.alpha {
                return (checkpoint, alpha);
            }
            *target += 1;
            if target.is_multiple_of(CHECKPOINTS) {
                break;
            }
        }
        alpha -= 2.0 * PI;
    }
}

/// Cuts the last full lap out of `points`, if its ends fit together.
fn close(points: &[TrackPoint]) -> Option<Vec<TrackPoint>> {
    let passes_start =
        |i: &usize| points[*i].alpha > START_ALPHA && points[*i - 1].alpha <= START_ALPHA;
    let mut passes = (1..points.len()).rev().filter(passes_start);
    let (end, start) = (passes.next()?, passes.next()?);
    let track = points[start..end - 1].to_vec();

    let (first, last) = (track.first()?, track.last()?);
    let gap_x = first.beta.cos() * (first.x - last.x);
    let gap_y = first.beta.sin() * (first.y - last.y);
    let gap = (gap_x * gap_x + gap_y * gap_y).sqrt();
    (gap <= DETAIL_STEP).then_some(track)
}

/// Which points of a track have a kerb: hard turns to one side, and the points before them.
pub(crate) fn kerbs(track: &[TrackPoint]) -> Vec<bool> {
    let count = track.len();
    // Python's negative indices go round to the end.
    let before = |i: usize, steps: usize| (i + count - steps) % count;
    let turn = |i: usize| track[i].beta - track[before(i, 1)].beta;
    let mut kerbs: Vec<bool> = (0..count)
        .map(|i| {
            let turns = (0..BORDER_MIN_COUNT).map(|steps| turn(before(i, steps)));
            let hard = turns.clone().all(|t| t.abs() > TURN_RATE * 0.2);
            let left = turns.clone().filter(|t| *t > 0.0).count();
            let right = turns.filter(|t| *t < 0.0).count();
            hard && left.abs_diff(right) == BORDER_MIN_COUNT
        })
        .collect();
    for i in 0..count {
        for steps in 0..BORDER_MIN_COUNT {
            kerbs[before(i, steps)] |= kerbs[i];
        }
    }
    kerbs
}
