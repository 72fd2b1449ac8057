//! Environments with Gymnasium's semantics: the [`Env`] trait, [`Space`]s, versioned ids and
//! their factories, vectorised stepping. No tensors, no files, no display.
//!
//! ```
//! use rl755_env::{EnvRegistry, ObservationBuffer};
//!
//! let mut env = EnvRegistry::with_builtin().make("CartPole-v1")?;
//! let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
//! env.reset(Some(7), observation.as_mut())?;
//! let step = env.step(&[1.0], observation.as_mut())?;
//! assert_eq!(step.reward, 1.0);
//! assert!(!step.done());
//! # Ok::<(), rl755_env::EnvError>(())
//! ```

mod car_racing;
mod cartpole;
mod check_env;
mod env;
mod error;
mod numpy_rng;
mod observation;
mod registry;
mod space;
mod space_sample;
mod time_limit;
mod vector_env;

pub use car_racing::{
    BodyState, CarRacing, CarRacingConfig, CarRacingState, RoadPolygon, TrackPoint, WheelState,
};
pub use cartpole::CartPole;
pub use check_env::{CheckError, Finding, check_env};
pub use env::{Env, EnvSpec, Step};
pub use error::EnvError;
pub use observation::{ObservationBuffer, ObservationMut, ObservationRef};
pub use registry::EnvRegistry;
pub use space::{Element, Space, SpaceError};
pub use time_limit::TimeLimit;
pub use vector_env::{Steps, VectorEnv};
