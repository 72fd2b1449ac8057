//! `CarRacing-v3`: a car seen from above, on a random track.
//!
//! Tracks, car, physics, rewards and episode ends have the bits of Gymnasium 1.4.0's CarRacing-v3
//! over Box2D 2.3 (pybox2d 2.3.10), given the same C library: sines and cosines are the system's,
//! as they are Python's.

mod box2d;
mod car;
mod episode;
mod picture;
mod road;
mod scene;
mod state;
mod tile_grid;
mod track;

use serde::{Deserialize, Serialize};

pub use road::RoadPolygon;
pub use state::{BodyState, CarRacingState, WheelState};
pub use track::TrackPoint;

use self::{car::INV_TIME_STEP, episode::Episode, picture::Painter, scene::Scene};
use crate::{Env, EnvError, EnvSpec, ObservationMut, Space, Step, numpy_rng::NumpyRng};

/// Height and width of a frame in pixels.
const FRAME_SIZE: usize = 96;

/// Which rules a [`CarRacing`] plays by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CarRacingConfig {
    /// The versioned id that the spec names. Default `CarRacing-v3`.
    pub id: String,
    /// The share of tiles, 0 to 1, that must have been visited for a first touch of tile 0 to
    /// close the lap. Default 0.95.
    ///
    /// The car starts on tile 0, which Gymnasium 1.4.0 counts as visited from the start: by that
    /// rule a lap practically never closes, and an episode ends when all tiles are visited.
    pub lap_complete_percent: f64,
}

impl Default for CarRacingConfig {
    fn default() -> Self {
        Self { id: "CarRacing-v3".to_owned(), lap_complete_percent: 0.95 }
    }
}

/// The environment.
///
/// An action is steering (-1 left to 1 right), gas and brake (0 to 1 each); an observation is a
/// frame of 96×96 RGB. The wheels stop at ±0.4 radians, gas comes on by at most 0.1 a step, and a
/// brake of 0.9 or more locks the wheels. Gymnasium does not check actions; this refuses those
/// outside the action space. Reset without a seed the first time, it draws from one that the
/// operating system chose.
#[derive(Clone, Debug)]
pub struct CarRacing {
    config: CarRacingConfig,
    spec: EnvSpec,
    rng: NumpyRng,
    episode: Option<Episode>,
    terminated: bool,
    /// One over the last time step of the world, which outlives episodes; 0 before its first.
    last_inv_time_step: f32,
    painter: Painter,
}

impl CarRacing {
    /// An environment that has not been reset.
    pub fn new(config: CarRacingConfig) -> Self {
        let spec = EnvSpec {
            id: config.id.clone(),
            observation_space: Space::Image { height: FRAME_SIZE, width: FRAME_SIZE, channels: 3 },
            action_space: Space::Box { low: vec![-1.0, 0.0, 0.0], high: vec![1.0, 1.0, 1.0] },
            max_episode_steps: Some(1000),
            rules: format!(
                "+1000/N for each of N tiles, -0.1 a step; ends when all tiles are visited (tile 0 \
                 counts from the start; reaching it anew after {}% of the tiles ends it, too) or, \
                 with -100, off the field",
                100.0 * config.lap_complete_percent
            ),
        };
        Self {
            config,
            spec,
            rng: NumpyRng::from_entropy(),
            episode: None,
            terminated: false,
            last_inv_time_step: 0.0,
            painter: Painter::new(),
        }
    }

    /// The centre line of the current track; empty before the first reset.
    pub fn track(&self) -> &[TrackPoint] {
        self.episode.as_ref().map_or(&[], |e| &e.track)
    }

    /// The current road in drawing order: each tile, followed by its kerb where it has one; empty
    /// before the first reset.
    pub fn road(&self) -> &[RoadPolygon] {
        self.episode.as_ref().map_or(&[], |e| &e.road.polygons)
    }

    /// The state of the current episode; none before the first reset.
    pub fn state(&self) -> Option<CarRacingState> {
        self.episode.as_ref().map(CarRacingState::new)
    }
}

impl Env for CarRacing {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        let frame = observation.bytes(&self.spec)?;
        if let Some(seed) = seed {
            self.rng = NumpyRng::new(seed);
        }
        let episode =
            Episode::new(&mut self.rng, self.config.lap_complete_percent, self.last_inv_time_step);
        self.last_inv_time_step = INV_TIME_STEP;
        self.terminated = false;
        self.painter.draw(&Scene::new(self.episode.insert(episode)), frame);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let Some(episode) = &mut self.episode else { return Err(self.spec.not_reset()) };
        if self.terminated {
            return Err(self.spec.episode_over());
        }
        self.spec.check_action(action)?;
        let frame = observation.bytes(&self.spec)?;
        let step = episode.step([action[0], action[1], action[2]].map(f64::from));
        self.terminated = step.terminated;
        self.painter.draw(&Scene::new(episode), frame);
        Ok(step)
    }
}

/// `numpy.sign`: 0 for 0.
fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}
