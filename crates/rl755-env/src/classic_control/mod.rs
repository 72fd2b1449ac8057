//! Classic control: five small tasks of mechanics with the states of Gymnasium 1.4.0.
//!
//! States are kept in the precision that Gymnasium keeps them in, and computed in its order of
//! operations; sines, cosines and powers are the system's, as they are NumPy's.

mod acrobot;
mod canvas;
mod cartpole;
mod hill;
mod mountain_car;
mod mountain_car_continuous;
mod pendulum;

pub use acrobot::Acrobot;
pub use cartpole::{CartPole, CartPoleConfig};
pub use mountain_car::{MountainCar, MountainCarConfig};
pub use mountain_car_continuous::MountainCarContinuous;
pub use pendulum::{Pendulum, PendulumConfig};

use crate::{EnvError, EnvSpec, ObservationMut, Step, numpy::NumpyRng};

/// What all five have beside their state: the spec, the random stream, and whether there is an
/// episode.
#[derive(Clone, Debug)]
struct Core {
    spec: EnvSpec,
    rng: NumpyRng,
    phase: Phase,
}

/// Where an environment is between two resets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    NotReset,
    Running,
    Over,
}

impl Core {
    /// Before the first reset, with a random stream that the operating system chose.
    fn new(spec: EnvSpec) -> Self {
        Self { spec, rng: NumpyRng::from_entropy(), phase: Phase::NotReset }
    }

    /// Begins an episode; the observation, once there is a state, goes into what it gives.
    fn reset<'a>(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'a>,
    ) -> Result<&'a mut [f32], EnvError> {
        let observation = observation.floats(&self.spec)?;
        if let Some(seed) = seed {
            self.rng = NumpyRng::new(seed);
        }
        self.phase = Phase::Running;
        Ok(observation)
    }

    /// Refuses a step that no reset precedes, and invalid actions; the observation goes into what
    /// it gives.
    fn check_step<'a>(
        &self,
        action: &[f32],
        observation: ObservationMut<'a>,
    ) -> Result<&'a mut [f32], EnvError> {
        match self.phase {
            Phase::NotReset => return Err(self.spec.not_reset()),
            Phase::Running => {}
            Phase::Over => return Err(self.spec.episode_over()),
        }
        self.spec.check_action(action)?;
        observation.floats(&self.spec)
    }

    /// The end of a step, and of the episode if it is `terminated`.
    fn finish_step(&mut self, reward: f64, terminated: bool) -> Step {
        if terminated {
            self.phase = Phase::Over;
        }
        Step { reward, terminated, truncated: false }
    }

    /// Refuses a picture of a state that no reset made.
    fn check_render(&self) -> Result<(), EnvError> {
        if self.phase == Phase::NotReset { Err(self.spec.not_reset()) } else { Ok(()) }
    }
}

/// Writes `values` as an observation, in single precision.
fn write_observation<const N: usize>(values: [f64; N], observation: &mut [f32]) {
    for (to, from) in observation.iter_mut().zip(values) {
        *to = from as f32;
    }
}

/// A point turned counter-clockwise about the origin by an angle in radians.
fn rotate([x, y]: [f64; 2], angle: f64) -> [f64; 2] {
    let (sin, cos) = angle.sin_cos();
    [x * cos - y * sin, x * sin + y * cos]
}
