//! Films of episodes, as WebM files that browsers play.
//!
//! ```
//! use rl755_env::{EnvRegistry, ObservationBuffer};
//! use rl755_video::Film;
//!
//! let mut env = EnvRegistry::with_builtin().make("CartPole-v1")?;
//! let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
//! let mut film = Film::new(&*env);
//! env.reset(Some(1), observation.as_mut())?;
//! for _ in 0..3 {
//!     film.add(|| env.render(), observation.as_ref());
//!     env.step(&[1.0], observation.as_mut())?;
//! }
//! let directory = tempfile::tempdir()?;
//! film.write(&directory.path().join("episode.webm"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ebml;
mod error;
mod film;
mod video;
mod vp8;

pub use error::VideoError;
pub use film::{Film, step_seconds};
