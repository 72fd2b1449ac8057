//! Environments around other environments, named as Gymnasium's wrappers where it has them.
//!
//! Each is an [`Env`](crate::Env) over any other, so they stack in any order. The outermost one's
//! spec says what the whole stack takes and gives; pictures and scenes come from the innermost.
//! All memory is taken when a wrapper is made: resetting and stepping take none, but for pictures
//! that are recorded.
//!
//! ```
//! use rl755_env::{
//!     Env, EnvRegistry,
//!     wrappers::{FrameStackObservation, GrayscaleObservation, ResizeObservation},
//! };
//!
//! let env = EnvRegistry::with_builtin().make("CarRacing-v3")?;
//! let env = ResizeObservation::new(GrayscaleObservation::new(env)?, [64, 64])?;
//! let env = FrameStackObservation::new(env, 4)?;
//! assert_eq!(env.spec().observation_space.shape(), [64, 64, 4]);
//! # Ok::<(), rl755_env::EnvError>(())
//! ```

mod area_resize;
mod clip_reward;
mod frame_stack_observation;
mod grayscale_observation;
mod record_episode_statistics;
mod record_frames;
mod repeat_action;
mod resize_observation;
mod scale_reward;
mod time_limit;

pub use clip_reward::ClipReward;
pub use frame_stack_observation::FrameStackObservation;
pub use grayscale_observation::GrayscaleObservation;
pub use record_episode_statistics::{EpisodeStatistics, RecordEpisodeStatistics};
pub use record_frames::{RecordFrames, RecordedFrame};
pub use repeat_action::RepeatAction;
pub use resize_observation::ResizeObservation;
pub use scale_reward::ScaleReward;
pub use time_limit::TimeLimit;

use crate::{EnvError, EnvSpec};

/// Why `wrapper` does not fit the environment of `spec`.
fn misfit(wrapper: &'static str, spec: &EnvSpec, reason: impl Into<String>) -> EnvError {
    EnvError::Wrapper { wrapper, env: spec.id.clone(), reason: reason.into() }
}
