//! MountainCarContinuous-v0: the mountain car with a motor that runs at any power, as in Gymnasium.

use super::{
    Core, MountainCarConfig,
    hill::{self, GRAVITY, MAX_POSITION, MAX_SPEED, MIN_POSITION, START},
    write_observation,
};
use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Space, Step};

/// By how much full power accelerates in a step.
const POWER: f32 = 0.0015;
const GOAL: f64 = 0.45;

/// A car in a valley that must gather speed to reach the flag on the right hill, on little power.
///
/// The observation is `[position, velocity]`, from -1.2 to 0.6 and from -0.07 to 0.07; the action
/// is the motor's power, from -1 (to the left) to 1. Every step costs a tenth of its square, and
/// the goal at 0.45 pays 100. The same seed and actions give the same episode as Gymnasium's
/// `MountainCarContinuous-v0`, which rounds states to single precision. Reset without a seed the
/// first time, it starts from one that the operating system chose.
#[derive(Clone, Debug)]
pub struct MountainCarContinuous {
    config: MountainCarConfig,
    core: Core,
    state: State,
}

/// Position and velocity: as drawn at first, in single precision after a step.
#[derive(Clone, Copy, Debug)]
enum State {
    Drawn(f64),
    Moved([f32; 2]),
}

impl MountainCarContinuous {
    /// The id this environment is registered under.
    pub const ID: &'static str = "MountainCarContinuous-v0";

    /// An environment that waits for its first reset, with the default rules.
    pub fn new() -> Self {
        Self::with_config(MountainCarConfig::default())
    }

    /// An environment that waits for its first reset.
    pub fn with_config(config: MountainCarConfig) -> Self {
        let spec = EnvSpec {
            id: Self::ID.to_owned(),
            observation_space: hill::observation_space(),
            action_space: Space::Box { low: vec![-1.0], high: vec![1.0] },
            max_episode_steps: Some(999),
            rules: format!(
                "-0.1 power² per step, +100 at the goal; ends at position {GOAL} or beyond with a \
                 velocity of at least {}",
                config.goal_velocity
            ),
        };
        let state = State::Drawn(0.0);
        Self { config, core: Core::new(spec), state }
    }

    /// Position and velocity in full precision, which after a step is that of the observation.
    pub fn state(&self) -> [f64; 2] {
        match self.state {
            State::Drawn(position) => [position, 0.0],
            State::Moved(state) => state.map(f64::from),
        }
    }
}

impl Default for MountainCarContinuous {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for MountainCarContinuous {
    fn spec(&self) -> &EnvSpec {
        &self.core.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        let observation = self.core.reset(seed, observation)?;
        self.state = State::Drawn(self.core.rng.uniform(START[0], START[1]));
        write_observation(self.state(), observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let observation = self.core.check_step(action, observation)?;
        let power = action[0];
        let [position, velocity] = advance(self.state, power);
        self.state = State::Moved([position, velocity]);
        let terminated = position >= GOAL as f32 && velocity >= self.config.goal_velocity as f32;
        write_observation(self.state(), observation);
        let power = f64::from(power);
        let reward = if terminated { 100.0 } else { 0.0 } - power * power * 0.1;
        Ok(self.core.finish_step(reward, terminated))
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.core.check_render()?;
        Ok(Some(hill::draw(self.state()[0], GOAL)))
    }
}

/// One step of the equations of motion, with Gymnasium's roundings to single precision.
fn advance(state: State, power: f32) -> [f32; 2] {
    let slope = match state {
        State::Drawn(position) => (3.0 * position).cos(),
        State::Moved([position, _]) => f64::from(3.0 * position).cos(),
    };
    let push = power * POWER - (GRAVITY * slope) as f32;
    let (position, velocity) = match state {
        State::Drawn(position) => ((position + f64::from(push)) as f32, push),
        State::Moved([position, velocity]) => {
            let velocity = (velocity + push).clamp(-MAX_SPEED as f32, MAX_SPEED as f32);
            (position + velocity, velocity)
        }
    };
    let position = position.clamp(MIN_POSITION as f32, MAX_POSITION as f32);
    let at_wall = position == MIN_POSITION as f32 && velocity < 0.0;
    [position, if at_wall { 0.0 } else { velocity }]
}
