//! InvertedPendulum-v5: a pole on a cart.

use mujoco_rs::prelude::MjModel;
use rl755_env::numpy::NumpyRng;
use serde::Deserialize;

use super::{settings::check_noise, state::add_noise};
use crate::task::{Facts, Outcome, Picture, Simulation, Task, View};

/// A pole to balance on a cart that a motor pushes along x.
///
/// The observation is `[position, angle, velocity, angular velocity]`; the reward 1 per step. An episode
/// ends when the pole leans beyond 0.2, or after 1,000 steps.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InvertedPendulum {
    /// Steps of 0.02 s of the simulation per step, 1 to 1000. Default 2.
    pub frame_skip: u32,
    /// First positions and velocities are uniform within plus and minus this of 0. Default 0.01.
    pub reset_noise_scale: f64,
}

impl Default for InvertedPendulum {
    fn default() -> Self {
        Self { frame_skip: 2, reset_noise_scale: 0.01 }
    }
}

impl Task for InvertedPendulum {
    fn facts(&self) -> Facts {
        Facts {
            id: "InvertedPendulum-v5",
            model: include_str!("../../models/inverted_pendulum.xml"),
            max_episode_steps: 1000,
            frame_skip: self.frame_skip,
            rules: "1 per step; ends when the pole leans beyond 0.2".to_owned(),
            contact_forces: false,
            view: View {
                followed: 0,
                middle: [0.0, 0.0, 0.2],
                distance: 3.0,
                picture: Picture { distance: Some(2.04), ..Picture::default() },
            },
        }
    }

    fn check(&self, _: &MjModel) -> Result<(), String> {
        check_noise(self.reset_noise_scale)
    }

    fn begin(&self, rng: &mut NumpyRng, positions: &mut [f64], velocities: &mut [f64]) {
        add_noise(rng, self.reset_noise_scale, positions);
        add_noise(rng, self.reset_noise_scale, velocities);
    }

    fn outcome(&self, simulation: &Simulation, _: &[f32], _: f64) -> Outcome {
        let mut state = simulation.qpos().iter().chain(simulation.qvel());
        let terminated = !state.all(|value| value.is_finite()) || simulation.qpos()[1].abs() > 0.2;
        Outcome { reward: if terminated { 0.0 } else { 1.0 }, terminated }
    }

    fn observe(&self, simulation: &Simulation, observation: &mut Vec<f64>) {
        observation.extend(simulation.qpos());
        observation.extend(simulation.qvel());
    }
}
