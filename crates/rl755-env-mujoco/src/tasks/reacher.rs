//! Reacher-v5: an arm that reaches for a target.

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

/// An arm of two links and two motors in a plane, whose tip should get to a target and stay there.
///
/// The observation is `[cosines and sines of the angles, the target's place, angular velocities, from
/// the target to the tip in x and y]`, 10 numbers; the reward the distance, negative, less the squared
/// action. Only the time limit of 50 steps ends an episode.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reacher {
    /// Steps of 0.01 s of the simulation per step, 1 to 1000. Default 2.
    pub frame_skip: u32,
    /// Cost of each metre between tip and target. Default 1.
    pub reward_dist_weight: f64,
    /// Cost of the squared action. Default 1.
    pub reward_control_weight: f64,
}

impl Default for Reacher {
    fn default() -> Self {
        Self { frame_skip: 2, reward_dist_weight: 1.0, reward_control_weight: 1.0 }
    }
}

/// From the target to the tip.
fn miss(simulation: &Simulation) -> [f64; 3] {
    difference(body_position(simulation, "fingertip"), body_position(simulation, "target"))
}

impl Task for Reacher {
    fn facts(&self) -> Facts {
        Facts {
            id: "Reacher-v5",
            model: include_str!("../../models/reacher.xml"),
            max_episode_steps: 50,
            frame_skip: self.frame_skip,
            rules: format!(
                "minus {} and {}; {ENDLESS}",
                share(self.reward_dist_weight, "the distance from tip to target in metres"),
                share(self.reward_control_weight, "the squared action")
            ),
            contact_forces: false,
            view: View {
                followed: 0,
                middle: [0.0; 3],
                distance: 1.24,
                picture: Picture::default(),
            },
        }
    }

    fn check(&self, _: &MjModel) -> Result<(), String> {
        check_weights(&[
            ("reward_dist_weight", self.reward_dist_weight),
            ("reward_control_weight", self.reward_control_weight),
        ])
    }

    fn begin(&self, rng: &mut NumpyRng, positions: &mut [f64], velocities: &mut [f64]) {
        add_noise(rng, 0.1, positions);
        let goal = loop {
            let goal = [rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2)];
            if norm(&goal) < 0.2 {
                break goal;
            }
        };
        // The last two of both are the target's.
        let arm = positions.len() - 2;
        positions[arm..].copy_from_slice(&goal);
        add_noise(rng, 0.005, velocities);
        velocities[arm..].fill(0.0);
    }

    fn outcome(&self, simulation: &Simulation, action: &[f32], _: f64) -> Outcome {
        let distance = -norm(&miss(simulation)) * self.reward_dist_weight;
        let reward = distance - control_cost(self.reward_control_weight, action);
        Outcome { reward, terminated: false }
    }

    fn observe(&self, simulation: &Simulation, observation: &mut Vec<f64>) {
        let (angles, target) = simulation.qpos().split_at(2);
        observation.extend(angles.iter().map(|angle| angle.cos()));
        observation.extend(angles.iter().map(|angle| angle.sin()));
        observation.extend(target);
        observation.extend(&simulation.qvel()[..2]);
        observation.extend(&miss(simulation)[..2]);
    }
}
