//! Pusher-v5: an arm that pushes an object to a place.

use mujoco_rs::prelude::MjModel;
use rl755_env::numpy::NumpyRng;
use serde::Deserialize;

use super::{
    reward::control_cost,
    rules::{ENDLESS, share},
    settings::check_weights,
    state::{add_noise, body_position, difference, norm},
};
use crate::task::{Facts, Outcome, Picture, Simulation, Task, View};

/// An arm with seven motors that should push a cylinder to its goal.
///
/// The observation is `[the arm's angles, their velocities, places of the arm's tip, of the object and
/// of the goal]`, 23 numbers; the reward the distance from object to goal, negative, less half of the
/// distance from tip to object and a tenth of the squared action. Only the time limit of 100 steps
/// ends an episode.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pusher {
    /// Steps of 0.01 s of the simulation per step, 1 to 1000. Default 5.
    pub frame_skip: u32,
    /// Cost of each metre between tip and object. Default 0.5.
    pub reward_near_weight: f64,
    /// Cost of each metre between object and goal. Default 1.
    pub reward_dist_weight: f64,
    /// Cost of the squared action. Default 0.1.
    pub reward_control_weight: f64,
}

impl Default for Pusher {
    fn default() -> Self {
        Self {
            frame_skip: 5,
            reward_near_weight: 0.5,
            reward_dist_weight: 1.0,
            reward_control_weight: 0.1,
        }
    }
}

impl Task for Pusher {
    fn facts(&self) -> Facts {
        Facts {
            id: "Pusher-v5",
            model: include_str!("../../models/pusher_v5.xml"),
            max_episode_steps: 100,
            frame_skip: self.frame_skip,
            rules: format!(
                "minus {}, {} and {}; {ENDLESS}",
                share(self.reward_dist_weight, "the distance from object to goal in metres"),
                share(self.reward_near_weight, "that from tip to object"),
                share(self.reward_control_weight, "the squared action")
            ),
            contact_forces: false,
            view: View {
                followed: 0,
                middle: [0.27, -0.4, -0.1],
                distance: 2.5,
                picture: Picture { distance: Some(4.0), ..Picture::default() },
            },
        }
    }

    fn check(&self, _: &MjModel) -> Result<(), String> {
        check_weights(&[
            ("reward_near_weight", self.reward_near_weight),
            ("reward_dist_weight", self.reward_dist_weight),
            ("reward_control_weight", self.reward_control_weight),
        ])
    }

    fn begin(&self, rng: &mut NumpyRng, positions: &mut [f64], velocities: &mut [f64]) {
        let object = loop {
            let object = [rng.uniform(-0.3, 0.0), rng.uniform(-0.2, 0.2)];
            // The goal is at 0.
            if norm(&object) > 0.17 {
                break object;
            }
        };
        // The last four of both are the object's and the goal's.
        let arm = positions.len() - 4;
        positions[arm..].copy_from_slice(&[object[0], object[1], 0.0, 0.0]);
        add_noise(rng, 0.005, velocities);
        velocities[arm..].fill(0.0);
    }

    fn outcome(&self, simulation: &Simulation, action: &[f32], _: f64) -> Outcome {
        let [tip, object, goal] =
            ["tips_arm", "object", "goal"].map(|name| body_position(simulation, name));
        let near = -norm(&difference(object, tip)) * self.reward_near_weight;
        let distance = -norm(&difference(object, goal)) * self.reward_dist_weight;
        let reward = distance - control_cost(self.reward_control_weight, action) + near;
        Outcome { reward, terminated: false }
    }

    fn observe(&self, simulation: &Simulation, observation: &mut Vec<f64>) {
        observation.extend(&simulation.qpos()[..7]);
        observation.extend(&simulation.qvel()[..7]);
        for name in ["tips_arm", "object", "goal"] {
            observation.extend(body_position(simulation, name));
        }
    }
}
