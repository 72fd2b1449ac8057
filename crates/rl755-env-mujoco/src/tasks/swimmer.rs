//! Swimmer-v5: three links in a viscous fluid.

use mujoco_rs::prelude::MjModel;
use rl755_env::numpy::NumpyRng;
use serde::Deserialize;

use super::{
    reward::control_cost,
    rules::{ENDLESS, ahead},
    settings::{check_noise, check_weights},
    state::add_noise,
};
use crate::task::{Facts, Outcome, Picture, Simulation, Task, View};

/// A swimmer of three links and two motors, which should get ahead along x.
///
/// The observation is `[angles, velocities]`, 8 numbers; the reward the speed along x less a little
/// of the squared action. Only the time limit of 1,000 steps ends an episode.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Swimmer {
    /// Steps of 0.01 s of the simulation per step, 1 to 1000. Default 4.
    pub frame_skip: u32,
    /// Reward per metre and second. Default 1.
    pub forward_reward_weight: f64,
    /// Cost of the squared action. Default 0.0001.
    pub ctrl_cost_weight: f64,
    /// First positions and velocities are uniform within plus and minus this of 0. Default 0.1.
    pub reset_noise_scale: f64,
    /// Leaves the place out of the observation; with it, it has 10 numbers. Default true.
    pub exclude_current_positions_from_observation: bool,
}

impl Default for Swimmer {
    fn default() -> Self {
        Self {
            frame_skip: 4,
            forward_reward_weight: 1.0,
            ctrl_cost_weight: 1e-4,
            reset_noise_scale: 0.1,
            exclude_current_positions_from_observation: true,
        }
    }
}

impl Task for Swimmer {
    fn facts(&self) -> Facts {
        Facts {
            id: "Swimmer-v5",
            model: include_str!("../../models/swimmer.xml"),
            max_episode_steps: 1000,
            frame_skip: self.frame_skip,
            rules: format!(
                "{}; {ENDLESS}",
                ahead(self.forward_reward_weight, self.ctrl_cost_weight)
            ),
            contact_forces: false,
            view: View {
                followed: 2,
                middle: [0.0; 3],
                distance: 5.0,
                picture: Picture::default(),
            },
        }
    }

    fn check(&self, _: &MjModel) -> Result<(), String> {
        check_noise(self.reset_noise_scale)?;
        check_weights(&[
            ("forward_reward_weight", self.forward_reward_weight),
            ("ctrl_cost_weight", self.ctrl_cost_weight),
        ])
    }

    fn begin(&self, rng: &mut NumpyRng, positions: &mut [f64], velocities: &mut [f64]) {
        add_noise(rng, self.reset_noise_scale, positions);
        add_noise(rng, self.reset_noise_scale, velocities);
    }

    fn outcome(&self, _: &Simulation, action: &[f32], speed: f64) -> Outcome {
        let cost = control_cost(self.ctrl_cost_weight, action);
        Outcome { reward: self.forward_reward_weight * speed - cost, terminated: false }
    }

    fn observe(&self, simulation: &Simulation, observation: &mut Vec<f64>) {
        let skipped = if self.exclude_current_positions_from_observation { 2 } else { 0 };
        observation.extend(&simulation.qpos()[skipped..]);
        observation.extend(simulation.qvel());
    }
}
