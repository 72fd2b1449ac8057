//! InvertedDoublePendulum-v5: a pole on a pole on a cart.

use mujoco_rs::prelude::MjModel;
use rl755_env::numpy::{NumpyRng, square};
use serde::Deserialize;

use super::{
    settings::{check_noise, check_weights},
    state::{add_noise, add_normal_noise, push_clipped},
};
use crate::task::{Facts, Outcome, Picture, Simulation, Task, View};

/// Two poles, one on top of the other, to balance on a cart that a motor pushes along x.
///
/// The observation is `[position, sines of the angles, cosines, velocities clipped to ±10, the force
/// that holds the cart on its rail, clipped as well]`, 9 numbers; the reward 10 per step less a part of
/// the tip's distance from upright and of the velocities. An episode ends when the tip is below 1 m, or
/// after 1,000 steps.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InvertedDoublePendulum {
    /// Steps of 0.01 s of the simulation per step, 1 to 1000. Default 5.
    pub frame_skip: u32,
    /// Reward of a step that does not end the episode. Default 10.
    pub healthy_reward: f64,
    /// First positions are uniform within plus and minus this of 0, velocities normal with this
    /// standard deviation. Default 0.1.
    pub reset_noise_scale: f64,
}

impl Default for InvertedDoublePendulum {
    fn default() -> Self {
        Self { frame_skip: 5, healthy_reward: 10.0, reset_noise_scale: 0.1 }
    }
}

impl Task for InvertedDoublePendulum {
    fn facts(&self) -> Facts {
        Facts {
            id: "InvertedDoublePendulum-v5",
            model: include_str!("../../models/inverted_double_pendulum.xml"),
            max_episode_steps: 1000,
            frame_skip: self.frame_skip,
            rules: format!(
                "{} per step less a part of the tip's squared distance from upright and of the \
                 squared velocities; ends when the tip is below 1 m",
                self.healthy_reward
            ),
            contact_forces: false,
            view: View {
                followed: 0,
                middle: [0.0, 0.0, 0.4],
                distance: 4.1225,
                picture: Picture::default(),
            },
        }
    }

    fn check(&self, _: &MjModel) -> Result<(), String> {
        check_noise(self.reset_noise_scale)?;
        check_weights(&[("healthy_reward", self.healthy_reward)])
    }

    fn begin(&self, rng: &mut NumpyRng, positions: &mut [f64], velocities: &mut [f64]) {
        add_noise(rng, self.reset_noise_scale, positions);
        add_normal_noise(rng, self.reset_noise_scale, velocities);
    }

    fn outcome(&self, simulation: &Simulation, _: &[f32], _: f64) -> Outcome {
        // The model's only site is the upper pole's tip.
        let [x, _, z] = simulation.site_xpos()[0];
        let terminated = z <= 1.0;
        let [_, lower, upper] = [0, 1, 2].map(|index| simulation.qvel()[index]);
        let distance = 0.01 * square(x) + square(z - 2.0);
        let velocity = 1e-3 * square(lower) + 5e-3 * square(upper);
        let alive = if terminated { 0.0 } else { self.healthy_reward };
        Outcome { reward: alive - distance - velocity, terminated }
    }

    fn observe(&self, simulation: &Simulation, observation: &mut Vec<f64>) {
        let positions = simulation.qpos();
        observation.push(positions[0]);
        observation.extend(positions[1..].iter().map(|angle| angle.sin()));
        observation.extend(positions[1..].iter().map(|angle| angle.cos()));
        push_clipped(observation, simulation.qvel(), [-10.0, 10.0]);
        push_clipped(observation, &simulation.qfrc_constraint()[..1], [-10.0, 10.0]);
    }
}
