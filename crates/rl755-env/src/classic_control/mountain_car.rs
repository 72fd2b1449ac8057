//! MountainCar-v0: a car too weak for the hill it must climb (Moore 1990), as in Gymnasium.

use serde::{Deserialize, Serialize};

use super::{
    Core,
    hill::{self, GRAVITY, MAX_POSITION, MAX_SPEED, MIN_POSITION, START},
    write_observation,
};
use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Space, Step};

/// By how much the motor accelerates in a step.
const FORCE: f64 = 0.001;
const GOAL: f64 = 0.5;

/// Which rules a [`MountainCar`] or a [`MountainCarContinuous`](crate::MountainCarContinuous) plays
/// by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MountainCarConfig {
    /// The least velocity, per step, at which the goal counts; none is above 0.07. Default 0.
    pub goal_velocity: f64,
}

/// A car in a valley that must gather speed to reach the flag on the right hill.
///
/// The observation is `[position, velocity]`, from -1.2 to 0.6 and from -0.07 to 0.07; an action
/// accelerates to the left (0), not at all (1) or to the right (2). Every step costs 1 until the
/// goal at 0.5. The same seed and actions give the same episode as Gymnasium's `MountainCar-v0`.
/// Reset without a seed the first time, it starts from one that the operating system chose.
#[derive(Clone, Debug)]
pub struct MountainCar {
    config: MountainCarConfig,
    core: Core,
    state: [f64; 2],
}

impl MountainCar {
    /// The id this environment is registered under.
    pub const ID: &'static str = "MountainCar-v0";

    /// An environment that waits for its first reset, with the default rules.
    pub fn new() -> Self {
        Self::with_config(MountainCarConfig::default())
    }

    /// An environment that waits for its first reset.
    pub fn with_config(config: MountainCarConfig) -> Self {
        let spec = EnvSpec {
            id: Self::ID.to_owned(),
            observation_space: hill::observation_space(),
            action_space: Space::Discrete { n: 3 },
            max_episode_steps: Some(200),
            rules: format!(
                "-1 per step; ends at position {GOAL} or beyond with a velocity of at least {}",
                config.goal_velocity
            ),
        };
        Self { config, core: Core::new(spec), state: [0.0; 2] }
    }

    /// Position and velocity in full precision.
    pub fn state(&self) -> [f64; 2] {
        self.state
    }
}

impl Default for MountainCar {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for MountainCar {
    fn spec(&self) -> &EnvSpec {
        &self.core.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        let observation = self.core.reset(seed, observation)?;
        self.state = [self.core.rng.uniform(START[0], START[1]), 0.0];
        write_observation(self.state, observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let observation = self.core.check_step(action, observation)?;
        let [position, velocity] = self.state;
        let push = (f64::from(action[0]) - 1.0) * FORCE;
        let velocity = velocity + (push + (3.0 * position).cos() * -GRAVITY);
        let velocity = velocity.clamp(-MAX_SPEED, MAX_SPEED);
        let position = (position + velocity).clamp(MIN_POSITION, MAX_POSITION);
        let at_wall = position == MIN_POSITION && velocity < 0.0;
        self.state = [position, if at_wall { 0.0 } else { velocity }];
        let terminated = position >= GOAL && velocity >= self.config.goal_velocity;
        write_observation(self.state, observation);
        Ok(self.core.finish_step(-1.0, terminated))
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.core.check_render()?;
        Ok(Some(hill::draw(self.state[0], GOAL)))
    }
}
