//! HalfCheetah-v5: a running robot in a plane.

use mujoco_rs::prelude::MjModel;
use rl755_env::numpy::NumpyRng;
use serde::Deserialize;

use super::{
    reward::control_cost,
    rules::{ENDLESS, ahead},
    settings::{check_noise, check_weights},
    state::{add_noise, add_normal_noise},
};
use crate::task::{Facts, Outcome, Picture, Simulation, Task, View};

/// A robot of two legs and six motors that moves in the plane of x and z, and should run along x.
///
/// The observation is `[height, angles, velocities]`, 17 numbers; the reward the speed along x less a
/// part of the squared action. Only the time limit of 1,000 steps ends an episode.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HalfCheetah {
    /// Steps of 0.01 s of the simulation per step, 1 to 1000. Default 5.
    pub frame_skip: u32,
    /// Reward per metre and second. Default 1.
    pub forward_reward_weight: f64,
    /// Cost of the squared action. Default 0.1.
    pub ctrl_cost_weight: f64,
    /// First positions are uniform within plus and minus this of the model's own, velocities normal
    /// with this standard deviation. Default 0.1.
    pub reset_noise_scale: f64,
    /// Leaves x out of the observation. Default true.
    pub exclude_current_positions_from_observation: bool,
}

impl Default for HalfCheetah {
    fn default() -> Self {
        Self {
            frame_skip: 5,
            forward_reward_weight: 1.0,
            ctrl_cost_weight: 0.1,
            reset_noise_scale: 0.1,
            exclude_current_positions_from_observation: true,
        }
    }
}

impl Task for HalfCheetah {
    fn facts(&self) -> Facts {
        Facts {
            id: "HalfCheetah-v5",
            model: include_str!("../../models/half_cheetah.xml"),
            max_episode_steps: 1000,
            frame_skip: self.frame_skip,
            rules: format!(
                "{}; {ENDLESS}",
                ahead(self.forward_reward_weight, self.ctrl_cost_weight)
            ),
            contact_forces: false,
            view: View {
                followed: 1,
                middle: [0.0; 3],
                distance: 4.0,
                picture: Picture { distance: Some(4.0), ..Picture::default() },
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
        add_normal_noise(rng, self.reset_noise_scale, velocities);
    }

    fn outcome(&self, _: &Simulation, action: &[f32], speed: f64) -> Outcome {
        let cost = control_cost(self.ctrl_cost_weight, action);
        Outcome { reward: self.forward_reward_weight * speed - cost, terminated: false }
    }

    fn observe(&self, simulation: &Simulation, observation: &mut Vec<f64>) {
        let skipped = usize::from(self.exclude_current_positions_from_observation);
        observation.extend(&simulation.qpos()[skipped..]);
        observation.extend(simulation.qvel());
    }
}
