//! Walker2d-v5: two legs that walk in a plane.

use mujoco_rs::prelude::MjModel;
use rl755_env::numpy::NumpyRng;
use serde::Deserialize;

use super::{
    reward::{Health, control_cost},
    rules::{ahead, ends, height, within},
    settings::{check_noise, check_range, check_weights},
    state::{add_noise, between, push_clipped},
};
use crate::task::{Facts, Outcome, Picture, Simulation, Task, View};

/// Two legs with six motors that move in the plane of x and z, and should walk along x.
///
/// The observation is `[height, angles, velocities clipped to ±10]`, 17 numbers; the reward 1 while it
/// is healthy, the speed along x, less a little of the squared action. An episode ends when it falls,
/// or after 1,000 steps.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Walker2d {
    /// Steps of 0.002 s of the simulation per step, 1 to 1000. Default 4.
    pub frame_skip: u32,
    /// Reward per metre and second. Default 1.
    pub forward_reward_weight: f64,
    /// Cost of the squared action. Default 0.001.
    pub ctrl_cost_weight: f64,
    /// Reward of a step in a healthy state. Default 1.
    pub healthy_reward: f64,
    /// Whether an unhealthy state ends the episode. Default true.
    pub terminate_when_unhealthy: bool,
    /// Healthy heights of the torso in metres, exclusive. Default `[0.8,2]`.
    pub healthy_z_range: [f64; 2],
    /// Healthy angles of the torso in radians, exclusive. Default `[-1,1]`.
    pub healthy_angle_range: [f64; 2],
    /// First positions and velocities are uniform within plus and minus this of the model's own.
    /// Default 0.005.
    pub reset_noise_scale: f64,
    /// Leaves x out of the observation. Default true.
    pub exclude_current_positions_from_observation: bool,
}

impl Default for Walker2d {
    fn default() -> Self {
        Self {
            frame_skip: 4,
            forward_reward_weight: 1.0,
            ctrl_cost_weight: 1e-3,
            healthy_reward: 1.0,
            terminate_when_unhealthy: true,
            healthy_z_range: [0.8, 2.0],
            healthy_angle_range: [-1.0, 1.0],
            reset_noise_scale: 5e-3,
            exclude_current_positions_from_observation: true,
        }
    }
}

impl Walker2d {
    fn is_healthy(&self, simulation: &Simulation) -> bool {
        let positions = simulation.qpos();
        between(positions[1], self.healthy_z_range)
            && between(positions[2], self.healthy_angle_range)
    }
}

impl Task for Walker2d {
    fn facts(&self) -> Facts {
        Facts {
            id: "Walker2d-v5",
            model: include_str!("../../models/walker2d_v5.xml"),
            max_episode_steps: 1000,
            frame_skip: self.frame_skip,
            rules: format!(
                "{} per healthy step and {}; {}",
                self.healthy_reward,
                ahead(self.forward_reward_weight, self.ctrl_cost_weight),
                ends(
                    self.terminate_when_unhealthy,
                    &[
                        height(self.healthy_z_range),
                        format!("an angle of {}", within(self.healthy_angle_range)),
                    ]
                )
            ),
            contact_forces: false,
            view: View {
                followed: 1,
                middle: [0.0, 0.0, -0.5],
                distance: 4.0,
                picture: Picture {
                    distance: Some(4.0),
                    lookat: Some([0.0, 0.0, 1.15]),
                    elevation: -20.0,
                },
            },
        }
    }

    fn check(&self, _: &MjModel) -> Result<(), String> {
        check_range("healthy_z_range", self.healthy_z_range)?;
        check_range("healthy_angle_range", self.healthy_angle_range)?;
        check_noise(self.reset_noise_scale)?;
        check_weights(&[
            ("forward_reward_weight", self.forward_reward_weight),
            ("ctrl_cost_weight", self.ctrl_cost_weight),
            ("healthy_reward", self.healthy_reward),
        ])
    }

    fn begin(&self, rng: &mut NumpyRng, positions: &mut [f64], velocities: &mut [f64]) {
        add_noise(rng, self.reset_noise_scale, positions);
        add_noise(rng, self.reset_noise_scale, velocities);
    }

    fn outcome(&self, simulation: &Simulation, action: &[f32], speed: f64) -> Outcome {
        let health = Health {
            healthy: self.is_healthy(simulation),
            healthy_reward: self.healthy_reward,
            terminate_when_unhealthy: self.terminate_when_unhealthy,
        };
        let cost = control_cost(self.ctrl_cost_weight, action);
        health.outcome(self.forward_reward_weight * speed, cost)
    }

    fn observe(&self, simulation: &Simulation, observation: &mut Vec<f64>) {
        let skipped = usize::from(self.exclude_current_positions_from_observation);
        observation.extend(&simulation.qpos()[skipped..]);
        push_clipped(observation, simulation.qvel(), [-10.0, 10.0]);
    }
}
