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
    /// What it is called, what moves in it, and what it reads of that.
    fn facts(&self) -> Facts;

    /// What is wrong with the settings other than `frame_skip`, naming the value and the range.
    ///
    /// # Errors
    /// When something is.
    fn check(&self, model: &MjModel) -> Result<(), String>;

    /// Changes the model's initial positions and velocities to those that an episode begins with.
    fn begin(&self, rng: &mut NumpyRng, positions: &mut [f64], velocities: &mut [f64]);

    /// Where on its course the robot is, for tasks that reward its speed: if nothing else is said
    /// the first position, which is x of robots that move in a plane.
    fn place(&self, simulation: &Simulation) -> f64 {
        simulation.qpos().first().copied().unwrap_or(0.0)
    }

    /// What the step that led here is worth; `speed` is the change of [`place`](Self::place) per
    /// second.
    fn outcome(&self, simulation: &Simulation, action: &[f32], speed: f64) -> Outcome;

    /// Adds the observation to `observation`, which is empty.
    fn observe(&self, simulation: &Simulation, observation: &mut Vec<f64>);
}

/// What an environment needs to know of a [`Task`] before it plays.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The versioned id.
    pub id: &'static str,
    /// The model in MuJoCo's XML.
    pub model: &'static str,
    /// Steps after which an episode is truncated.
    pub max_episode_steps: u32,
    /// Steps of the simulation for each step of the environment, 1 to 1000.
    pub frame_skip: u32,
    /// What is rewarded and what ends an episode with these settings, in one line.
    pub rules: String,
    /// Whether the task reads `cfrc_ext`, which takes time.
    pub contact_forces: bool,
    /// From where it is seen.
    pub view: View,
}

/// From where people see a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The body that the cameras of the [`Scene`](rl755_env::Scene) follow; the world's number, 0,
    /// for none.
    pub followed: usize,
    /// What these cameras have in their middle, in metres: from the followed body's first geom, or
    /// from the origin if they follow none.
    pub middle: [f64; 3],
    /// How far away they are, in metres.
    pub distance: f64,
    /// From where [`Env::render`](rl755_env::Env::render) sees it.
    pub picture: Picture,
}

/// The camera of pictures: MuJoCo's free camera, as Gymnasium sets it and then leaves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picture {
    /// How far away the camera is, in metres; the model's extent if `None`.
    pub distance: Option<f64>,
    /// What is in the middle, in metres; the median of the geoms if `None`.
    pub lookat: Option<[f64; 3]>,
    /// How far it looks upwards, in degrees.
    pub elevation: f64,
}

impl Default for Picture {
    fn default() -> Self {
        Self { distance: None, lookat: None, elevation: -45.0 }
    }
}

/// What a step was worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The reward.
    pub reward: f64,
    /// Whether the task ended.
    pub terminated: bool,
}
