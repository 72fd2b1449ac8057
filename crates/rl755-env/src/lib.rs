//! Environments with Gymnasium's semantics: the [`Env`] trait, [`Space`]s, versioned ids and
//! their factories, vectorised stepping. No tensors, no files, no display.
//!
//! ```
//! use rl755_env::{EnvRegistry, ObservationBuffer};
//!
//! let mut env = EnvRegistry::with_builtin().make("CarRacing-v3")?;
//! assert_eq!(env.spec().action_space.to_string(), "Box([-1, 0, 0], [1, 1, 1])");
//! let mut frame = ObservationBuffer::zeros(&env.spec().observation_space, 1);
//! env.reset(Some(7), frame.as_mut())?;
//! let full_gas = [0.0, 1.0, 0.0];
//! let mut score = 0.0;
//! for _ in 0..100 {
//!     let step = env.step(&full_gas, frame.as_mut())?;
//!     score += step.reward;
//!     if step.done() {
//!         break;
//!     }
//! }
//! assert!(score > 0.0);
//! # Ok::<(), rl755_env::EnvError>(())
//! ```

mod car_racing;
mod check_env;
mod classic_control;
mod env;
mod error;
pub mod numpy;
mod observation;
mod options;
mod registry;
mod rgb_frame;
mod scene;
mod space;
mod space_sample;
mod vector_env;
pub mod wrappers;

pub use car_racing::{
    BodyState, CarRacing, CarRacingColors, CarRacingConfig, CarRacingState, RoadPolygon,
    TrackPoint, WheelState,
};
pub use check_env::{CheckError, Finding, check_env};
pub use classic_control::{
    Acrobot, CartPole, CartPoleConfig, MountainCar, MountainCarConfig, MountainCarContinuous,
    Pendulum, PendulumConfig,
};
pub use env::{Env, EnvSpec, Step};
pub use error::EnvError;
pub use observation::{ObservationBuffer, ObservationMut, ObservationRef};
pub use registry::EnvRegistry;
pub use rgb_frame::RgbFrame;
pub use scene::{Camera, Geom, Scene, Scene3d, Shape};
pub use space::{Element, Space, SpaceError};
pub use vector_env::{AutoresetMode, Steps, VectorEnv};
pub use wrappers::TimeLimit;
