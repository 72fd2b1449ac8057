//! Humanoid-v5: a body with arms and legs.

use mujoco_rs::prelude::MjModel;
use rl755_env::numpy::{NumpyRng, sum};
use serde::Deserialize;

use super::{
    reward::{Health, sum_of_squares},
    rules::{ahead, contacts, ends, height},
    settings::{check_noise, check_range, check_weights},
    state::{add_noise, between},
};
use crate::task::{Facts, Outcome, Picture, Simulation, Task, View};

/// A body with two arms, two legs and 17 motors, which should walk along x.
///
/// The observation is `[height, orientation, angles, velocities, inertias, body velocities, motor
/// forces, contact forces]`, 348 numbers; the reward 5 while it is healthy, 1.25 times the speed along
/// x, less a tenth of the squared action and a little of the squared contact forces. An episode ends
/// when it falls, or after 1,000 steps.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Humanoid {
    /// Steps of 0.003 s of the simulation per step, 1 to 1000. Default 5.
    pub frame_skip: u32,
    /// Reward per metre and second of the centre of mass. Default 1.25.
    pub forward_reward_weight: f64,
    /// Cost of the squared action. Default 0.1.
    pub ctrl_cost_weight: f64,
    /// Cost of the squared contact forces. Default 0.0000005.
    pub contact_cost_weight: f64,
    /// What the cost of contact forces is clipped to. Default `[-∞,10]`.
    pub contact_cost_range: [f64; 2],
    /// Reward of a step in a healthy state. Default 5.
    pub healthy_reward: f64,
    /// Whether an unhealthy state ends the episode. Default true.
    pub terminate_when_unhealthy: bool,
    /// Healthy heights of the torso in metres, exclusive. Default `[1,2]`.
    pub healthy_z_range: [f64; 2],
    /// First positions and velocities are uniform within plus and minus this of the model's own.
    /// Default 0.01.
    pub reset_noise_scale: f64,
    /// Leaves x and y out of the observation. Default true.
    pub exclude_current_positions_from_observation: bool,
    /// Whether masses and inertias, 130 numbers, are observed. Default true.
    pub include_cinert_in_observation: bool,
    /// Whether the bodies' velocities, 78 numbers, are observed. Default true.
    pub include_cvel_in_observation: bool,
    /// Whether the motors' forces, 17 numbers, are observed. Default true.
    pub include_qfrc_actuator_in_observation: bool,
    /// Whether contact forces, 78 numbers, are observed. Default true.
    pub include_cfrc_ext_in_observation: bool,
}

impl Default for Humanoid {
    fn default() -> Self {
        Self {
            frame_skip: 5,
            forward_reward_weight: 1.25,
            ctrl_cost_weight: 0.1,
            contact_cost_weight: 5e-7,
            contact_cost_range: [f64::NEG_INFINITY, 10.0],
            healthy_reward: 5.0,
            terminate_when_unhealthy: true,
            healthy_z_range: [1.0, 2.0],
            reset_noise_scale: 1e-2,
            exclude_current_positions_from_observation: true,
            include_cinert_in_observation: true,
            include_cvel_in_observation: true,
            include_qfrc_actuator_in_observation: true,
            include_cfrc_ext_in_observation: true,
        }
    }
}

impl Humanoid {
    fn costs(&self, simulation: &Simulation) -> f64 {
        let [low, high] = self.contact_cost_range;
        let forces = simulation.cfrc_ext().as_flattened().iter().copied();
        // Of the controls, which are doubles, and not of the action as elsewhere.
        let controls = simulation.ctrl().iter().copied();
        self.ctrl_cost_weight * sum_of_squares(controls)
            + (self.contact_cost_weight * sum_of_squares(forces)).clamp(low, high)
    }
}

impl Task for Humanoid {
    fn facts(&self) -> Facts {
        Facts {
            id: "Humanoid-v5",
            model: include_str!("../../models/humanoid.xml"),
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
                middle: [0.0, 0.0, -0.5],
                distance: 4.0,
                picture: Picture {
                    distance: Some(4.0),
                    lookat: Some([0.0, 0.0, 2.0]),
                    elevation: -20.0,
                },
            },
        }
    }

    fn check(&self, _: &MjModel) -> Result<(), String> {
        check_range("contact_cost_range", self.contact_cost_range)?;
        check_range("healthy_z_range", self.healthy_z_range)?;
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
        add_noise(rng, self.reset_noise_scale, velocities);
    }

    /// Of the centre of mass.
    fn place(&self, simulation: &Simulation) -> f64 {
        let masses = simulation.model().body_mass();
        let moments = masses.iter().zip(simulation.xipos()).map(|(mass, at)| mass * at[0]);
        moments.sum::<f64>() / sum(masses)
    }

    fn outcome(&self, simulation: &Simulation, _: &[f32], speed: f64) -> Outcome {
        let health = Health {
            healthy: between(simulation.qpos()[2], self.healthy_z_range),
            healthy_reward: self.healthy_reward,
            terminate_when_unhealthy: self.terminate_when_unhealthy,
        };
        health.outcome(self.forward_reward_weight * speed, self.costs(simulation))
    }

    fn observe(&self, simulation: &Simulation, observation: &mut Vec<f64>) {
        let skipped = if self.exclude_current_positions_from_observation { 2 } else { 0 };
        observation.extend(&simulation.qpos()[skipped..]);
        observation.extend(simulation.qvel());
        // The world is body 0, and the torso's own six degrees of freedom have no motors.
        if self.include_cinert_in_observation {
            observation.extend(simulation.cinert()[1..].as_flattened());
        }
        if self.include_cvel_in_observation {
            observation.extend(simulation.cvel()[1..].as_flattened());
        }
        if self.include_qfrc_actuator_in_observation {
            observation.extend(&simulation.qfrc_actuator()[6..]);
        }
        if self.include_cfrc_ext_in_observation {
            observation.extend(simulation.cfrc_ext()[1..].as_flattened());
        }
    }
}
