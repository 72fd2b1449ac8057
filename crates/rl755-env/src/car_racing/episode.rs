//! One episode: a track, a car on it, and what the car has earned.

use std::num::NonZeroU32;

use super::{
    car::{Car, FPS, INV_TIME_STEP},
    colors::CarRacingColors,
    config::CarRacingConfig,
    road::Road,
    track::{self, PLAYFIELD, TrackPoint},
};
use crate::{Step, numpy::NumpyRng};

/// The state of an episode.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub(crate) track: Vec<TrackPoint>,
    pub(crate) colors: CarRacingColors,
    pub(crate) road: Road,
    pub(crate) car: Car,
    pub(crate) skip_zoom: bool,
    /// Seconds since the episode began, summed step by step.
    pub(crate) time: f64,
    /// Sum of the rewards, without the one for leaving the field.
    pub(crate) reward: f64,
    /// The reward as it was when the picture is drawn: before the step's -0.1.
    pub(crate) shown_reward: f64,
    paid_reward: f64,
    /// The first tile was reached after enough of the others.
    lap_closed: bool,
    /// None: laps do not close.
    lap_complete_percent: Option<f64>,
    /// Steps since a tile was reached, or since the start.
    steps_without_tile: u32,
    patience_steps: Option<NonZeroU32>,
}

impl Episode {
    /// Draws colours and a track, puts the car on it and makes the step without an action with
    /// which Gymnasium's `reset` ends.
    pub(crate) fn new(
        rng: &mut NumpyRng,
        config: &CarRacingConfig,
        lap_complete_percent: Option<f64>,
        last_inv_step: f32,
    ) -> Self {
        let colors = match config.domain_randomize {
            true => CarRacingColors::draw(rng),
            false => CarRacingColors::regular(),
        };
        let track = track::generate(rng);
        let start = if config.random_start { rng.integers(track.len() as u32) } else { 0 };
        let road = Road::new(&track, &colors);
        let car = Car::new(&track[start as usize]);
        let mut episode = Self {
            track,
            colors,
            road,
            car,
            skip_zoom: config.skip_zoom,
            time: 0.0,
            reward: 0.0,
            shown_reward: 0.0,
            paid_reward: 0.0,
            lap_closed: false,
            lap_complete_percent,
            steps_without_tile: 0,
            patience_steps: config.patience_steps,
        };
        episode.advance(last_inv_step);
        episode.steps_without_tile = 0;
        episode
    }

    /// Steers by `action` (steer, gas, brake), moves everything on and pays for it.
    pub(crate) fn step(&mut self, action: [f64; 3]) -> Step {
        self.car.control(action);
        self.advance(INV_TIME_STEP);
        self.reward -= 0.1;
        let mut reward = self.reward - self.paid_reward;
        self.paid_reward = self.reward;
        let mut terminated = self.road.visited() == self.road.len() || self.lap_closed;
        let place = self.car.bodies.hull.transform.position;
        if f64::from(place.x).abs() > PLAYFIELD || f64::from(place.y).abs() > PLAYFIELD {
            terminated = true;
            reward = -100.0;
        }
        let patience_ends =
            self.patience_steps.is_some_and(|limit| self.steps_without_tile >= limit.get());
        Step { reward, terminated, truncated: patience_ends && !terminated }
    }

    fn advance(&mut self, last_inv_step: f32) {
        // The tyres grip by the tiles of the step before: sensors are read after them.
        self.car.drive(&self.road);
        let visits = self.road.sense(&self.car.bodies);
        let tiles = self.road.len() as f64;
        for _ in 0..visits.new {
            self.reward += 1000.0 / tiles;
        }
        let share = self.road.visited() as f64 / tiles;
        if visits.first_tile && self.lap_complete_percent.is_some_and(|needed| share > needed) {
            self.lap_closed = true;
        }
        self.steps_without_tile = if visits.new > 0 { 0 } else { self.steps_without_tile + 1 };
        self.car.advance(last_inv_step);
        self.time += 1.0 / FPS;
        self.shown_reward = self.reward;
    }
}
