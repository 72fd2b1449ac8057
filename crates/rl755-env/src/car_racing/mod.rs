//! `CarRacing-v3` and `-v0`: a car seen from above, on a random track.
//!
//! Tracks, car, physics, rewards and episode ends have the bits of Gymnasium 1.4.0's CarRacing-v3
//! over Box2D 2.3 (pybox2d 2.3.10), given the same C library: sines and cosines are the system's,
//! as they are Python's.

mod box2d;
mod car;
mod colors;
mod config;
mod episode;
mod picture;
mod road;
mod scene;
mod skids;
mod state;
mod tile_grid;
mod track;

pub use colors::CarRacingColors;
pub use config::CarRacingConfig;
pub use road::RoadPolygon;
pub use state::{BodyState, CarRacingState, WheelState};
pub use track::TrackPoint;

use self::{
    car::INV_TIME_STEP,
    config::Version,
    episode::Episode,
    picture::{draw_observation, picture_for_people},
    scene::Scene,
};
use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Space, Step, numpy::NumpyRng};

/// Height and width of a frame in pixels.
const FRAME_SIZE: usize = 96;

/// How many actions there are without continuous ones.
const DISCRETE_ACTIONS: usize = 5;

/// The environment.
///
/// An action is steering (-1 left to 1 right), gas and brake (0 to 1 each), or one of the five of
/// [`CarRacingConfig::continuous`]; an observation is a frame of 96×96 RGB. The wheels stop at
/// ±0.4 radians, gas comes on by at most 0.1 a step, and a brake of 0.9 or more locks the wheels.
/// Gymnasium does not check continuous actions; this refuses those outside the action space.
///
/// An episode of `CarRacing-v3` ends when all tiles are visited, when a lap closes
/// ([`CarRacingConfig::lap_complete_percent`]), or with a reward of -100 off the field.
/// `CarRacing-v0` has the rule of the first CarRacing: laps do not close. Its physics and its
/// picture are those of v3, not those of its time. Both have a limit of 1000 steps when a registry
/// makes them.
///
/// Reset without a seed the first time, it draws from one that the operating system chose.
/// (Gymnasium's constructor draws colours from such a stream, which the first reset replaces; this
/// goes without them.)
#[derive(Clone, Debug)]
pub struct CarRacing {
    config: CarRacingConfig,
    lap_complete_percent: Option<f64>,
    spec: EnvSpec,
    rng: NumpyRng,
    episode: Option<Episode>,
    over: bool,
    /// One over the last time step of the world, which outlives episodes; 0 before its first.
    last_inv_time_step: f32,
}

impl CarRacing {
    /// The id of [`new`](Self::new)'s environment.
    pub const ID: &str = Version::V3.id();
    /// The id of [`original`](Self::original)'s environment.
    pub const ORIGINAL_ID: &str = Version::V0.id();

    /// `CarRacing-v3`, not reset.
    ///
    /// # Errors
    /// [`EnvError::Options`] when `lap_complete_percent` is no share.
    pub fn new(config: CarRacingConfig) -> Result<Self, EnvError> {
        Self::with_version(Version::V3, config)
    }

    /// `CarRacing-v0`, not reset.
    ///
    /// # Errors
    /// [`EnvError::Options`] when the config has a `lap_complete_percent`.
    pub fn original(config: CarRacingConfig) -> Result<Self, EnvError> {
        Self::with_version(Version::V0, config)
    }

    fn with_version(version: Version, config: CarRacingConfig) -> Result<Self, EnvError> {
        let lap_complete_percent = version.lap_complete_percent(&config)?;
        let action_space = match config.continuous {
            true => Space::Box { low: vec![-1.0, 0.0, 0.0], high: vec![1.0, 1.0, 1.0] },
            false => Space::Discrete { n: DISCRETE_ACTIONS },
        };
        let spec = EnvSpec {
            id: version.id().to_owned(),
            observation_space: Space::Image { height: FRAME_SIZE, width: FRAME_SIZE, channels: 3 },
            action_space,
            max_episode_steps: Some(1000),
            rules: config::rules(&config, lap_complete_percent),
        };
        Ok(Self {
            config,
            lap_complete_percent,
            spec,
            rng: NumpyRng::from_entropy(),
            episode: None,
            over: false,
            last_inv_time_step: 0.0,
        })
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

    /// The colours of the current episode; none before the first reset.
    pub fn colors(&self) -> Option<CarRacingColors> {
        self.episode.as_ref().map(|e| e.colors)
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
        let episode = Episode::new(
            &mut self.rng,
            &self.config,
            self.lap_complete_percent,
            self.last_inv_time_step,
        );
        self.last_inv_time_step = INV_TIME_STEP;
        self.over = false;
        draw_observation(&Scene::new(self.episode.insert(episode)), frame);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let Some(episode) = &mut self.episode else { return Err(self.spec.not_reset()) };
        if self.over {
            return Err(self.spec.episode_over());
        }
        self.spec.check_action(action)?;
        let frame = observation.bytes(&self.spec)?;
        let step = episode.step(controls(action));
        self.over = step.done();
        draw_observation(&Scene::new(episode), frame);
        Ok(step)
    }

    /// Gymnasium's window, 600×400, with the marks of sliding wheels.
    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        let episode = self.episode.as_ref().ok_or_else(|| self.spec.not_reset())?;
        Ok(Some(picture_for_people(&Scene::new(episode))))
    }
}

/// Steering, gas and brake of an action that the action space contains.
fn controls(action: &[f32]) -> [f64; 3] {
    match *action {
        [steer, gas, brake] => [steer, gas, brake].map(f64::from),
        [1.0, ..] => [0.6, 0.0, 0.0],
        [2.0, ..] => [-0.6, 0.0, 0.0],
        [3.0, ..] => [0.0, 0.2, 0.0],
        [4.0, ..] => [0.0, 0.0, 0.8],
        _ => [0.0; 3],
    }
}

/// `numpy.sign`: 0 for 0.
fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}
