//! Ant-v5: a robot of four legs.

use mujoco_rs::prelude::MjModel;
use rl755_env::numpy::NumpyRng;
use serde::Deserialize;

use super::{
    reward::{Health, control_cost, sum_of_squares},
    rules::{ahead, contacts, ends, height},
    settings::{check_noise, check_range, check_weights},
    state::{add_noise, add_normal_noise, push_clipped},
};
use crate::task::{Facts, Outcome, Picture, Simulation, Task, View};

/// A robot of four legs and eight motors, which should walk along x.
///
/// The observation is `[height, orientation, angles, velocities, contact forces on each body]`, 105
/// numbers; the reward 1 while it is healthy, the speed along x, less half of the squared action and a
/// little of the squared contact forces. An episode ends when it is unhealthy, or after 1,000 steps.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ant {
    /// Steps of 0.01 s of the simulation per step, 1 to 1000. Default 5.
    pub frame_skip: u32,
    /// Reward per metre and second. Default 1.
    pub forward_reward_weight: f64,
    /// Cost of the squared action. Default 0.5.
    pub ctrl_cost_weight: f64,
    /// Cost of the squared contact forces. Default 0.0005.
    pub contact_cost_weight: f64,
    /// Reward of a step in a healthy state. Default 1.
    pub healthy_reward: f64,
    /// The number of the body whose speed is rewarded. Default 1, the torso.
    pub main_body: usize,
    /// Whether an unhealthy state ends the episode. Default true.
    pub terminate_when_unhealthy: bool,
    /// Healthy heights of the torso in metres, inclusive. Default `[0.2,1]`.
    pub healthy_z_range: [f64; 2],
    /// What contact forces are clipped to. Default `[-1,1]`.
    pub contact_force_range: [f64; 2],
    /// First positions are uniform within plus and minus this of the model's own, velocities normal
    /// with this standard deviation. Default 0.1.
    pub reset_noise_scale: f64,
    /// Leaves x and y out of the observation. Default true.
    pub exclude_current_positions_from_observation: bool,
    /// Whether contact forces, 78 numbers, are observed. Default true.
    pub include_cfrc_ext_in_observation: bool,
}

impl Default for Ant {
    fn default() -> Self {
        Self {
            frame_skip: 5,
            forward_reward_weight: 1.0,
            ctrl_cost_weight: 0.5,
            contact_cost_weight: 5e-4,
            healthy_reward: 1.0,
            main_body: 1,
            terminate_when_unhealthy: true,
            healthy_z_range: [0.2, 1.0],
            contact_force_range: [-1.0, 1.0],
            reset_noise_scale: 0.1,
            exclude_current_positions_from_observation: true,
            include_cfrc_ext_in_observation: true,
        }
    }
}

impl Ant {
    fn is_healthy(&self, simulation: &Simulation) -> bool {
        let [low, high] = self.healthy_z_range;
        let mut state = simulation.qpos().iter().chain(simulation.qvel());
        state.all(|value| value.is_finite()) && (low..=high).contains(&simulation.qpos()[2])
    }

    fn contact_cost(&self, simulation: &Simulation) -> f64 {
        let [low, high] = self.contact_force_range;
        let forces = simulation.cfrc_ext().as_flattened();
        let forces = forces.iter().map(|force| force.clamp(low, high));
        self.contact_cost_weight * sum_of_squares(forces)
    }
}

impl Task for Ant {
    fn facts(&self) -> Facts {
        Facts {
            id: "Ant-v5",
            model: include_str!("../../models/ant.xml"),
            max_episode_steps: 1000,
            frame_skip: self.frame_skip,
            rules: format!(
                "{} per healthy step and {}{}; {}",
                self.healthy_reward,
                ahead(self.forward_reward_weight, self.ctrl_cost_weight),
                contacts(self.contact_cost_weight),
                ends(self.terminate_when_unhealthy, &[height(self.healthy_z_range)])
            ),
            contact_forces: true,
            view: View {
                followed: 1,
                middle: [0.0; 3],
                distance: 4.0,
                picture: Picture { distance: Some(4.0), ..Picture::default() },
            },
        }
    }

    fn check(&self, model: &MjModel) -> Result<(), String> {
        let bodies = model.body_mass().len();
        if self.main_body >= bodies {
            return Err(format!("main_body is {}; it must be 0 to {}", self.main_body, bodies - 1));
        }
        check_range("healthy_z_range", self.healthy_z_range)?;
        check_range("contact_force_range", self.contact_force_range)?;
        check_noise(self.reset_noise_scale)?;
        check_weights(&[
            ("forward_reward_weight", self.forward_reward_weight),
            ("ctrl_cost_weight", self.ctrl_cost_weight),
            ("contact_cost_weight", self.contact_cost_weight),
            ("healthy_reward", self.healthy_reward),
        ])
    }

    fn begin(&self, rng: &mut NumpyRng, positions: &mut [f64], velocities: &mut [f64]) {
        add_noise(rng, self.reset_noise_scale, positions);
        add_normal_noise(rng, self.reset_noise_scale, velocities);
    }

    fn place(&self, simulation: &Simulation) -> f64 {
        simulation.xpos()[self.main_body][0]
    }

    fn outcome(&self, simulation: &Simulation, action: &[f32], speed: f64) -> Outcome {
        let health = Health {
            healthy: self.is_healthy(simulation),
            healthy_reward: self.healthy_reward,
            terminate_when_unhealthy: self.terminate_when_unhealthy,
        };
        let costs = control_cost(self.ctrl_cost_weight, action) + self.contact_cost(simulation);
        health.outcome(self.forward_reward_weight * speed, costs)
    }

    fn observe(&self, simulation: &Simulation, observation: &mut Vec<f64>) {
        let skipped = if self.exclude_current_positions_from_observation { 2 } else { 0 };
        observation.extend(&simulation.qpos()[skipped..]);
        observation.extend(simulation.qvel());
        if self.include_cfrc_ext_in_observation {
            let forces = simulation.cfrc_ext()[1..].as_flattened();
            push_clipped(observation, forces, self.contact_force_range);
        }
    }
}
