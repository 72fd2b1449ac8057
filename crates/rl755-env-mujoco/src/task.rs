//! What a MuJoCo environment is beside its model: a [`Task`].

use std::sync::Arc;

use mujoco_rs::prelude::{MjData, MjModel};
use rl755_env::numpy::NumpyRng;

/// A model and its state.
pub type Simulation = MjData<Arc<MjModel>>;

/// What a MuJoCo environment is beside its model. Its fields are its settings.
///
/// A [`MujocoEnv`](crate::MujocoEnv) of your own task and model needs no more than this.
pub trait Task: Send + 'static {
    /// What holds whatever the settings.
    fn facts(&self) -> Facts;

    /// What is wrong with the settings, naming the value and the range.
    ///
    /// # Errors
    /// When something is.
    fn check(&self, model: &MjModel) -> Result<(), String>;

    /// Steps of the simulation for each step of the environment.
    fn frame_skip(&self) -> u32;

    /// Changes the model's initial positions and velocities to those that an episode begins with.
    fn begin(&self, rng: &mut NumpyRng, positions: &mut [f64], velocities: &mut [f64]);

    /// Where on its course the robot is, for tasks that reward its speed.
    fn place(&self, _simulation: &Simulation) -> f64 {
        0.0
    }

    /// What the step that led here is worth; `speed` is the change of [`place`](Self::place) per
    /// second.
    fn outcome(&self, simulation: &Simulation, action: &[f32], speed: f64) -> Outcome;

    /// Adds the observation to `observation`, which is empty.
    fn observe(&self, simulation: &Simulation, observation: &mut Vec<f64>);
}

/// What holds of a [`Task`] whatever its settings.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The versioned id.
    pub id: &'static str,
    /// The model in MuJoCo's XML.
    pub model: &'static str,
    /// Steps after which an episode is truncated.
    pub max_episode_steps: u32,
    /// What is rewarded and what ends an episode, in one line.
    pub rules: &'static str,
    /// Whether the task reads `cfrc_ext`, which takes time.
    pub contact_forces: bool,
    /// From where it is seen.
    pub view: View,
}

/// From where people see a model: MuJoCo's free camera, where it is not told otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The body that following cameras follow; the world's number, 0, for none.
    pub followed: usize,
    /// How far away the camera is; the model's extent if `None`.
    pub distance: Option<f64>,
    /// What is in the middle of the picture; the median of the geoms if `None`.
    pub lookat: Option<[f64; 3]>,
    /// How far it looks upwards, in degrees.
    pub elevation: f64,
}

/// What a step was worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The reward.
    pub reward: f64,
    /// Whether the task ended.
    pub terminated: bool,
}
