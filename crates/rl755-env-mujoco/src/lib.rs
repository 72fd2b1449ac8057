//! Gymnasium's ten MuJoCo environments, version 5, with its very observations and rewards.
//!
//! ```
//! # #[cfg(feature = "mujoco")] {
//! use rl755_env::{EnvRegistry, ObservationBuffer};
//!
//! let mut registry = EnvRegistry::with_builtin();
//! rl755_env_mujoco::register(&mut registry);
//! let mut env = registry.make("Swimmer-v5:ctrl_cost_weight=0")?;
//! let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
//! env.reset(Some(7), observation.as_mut())?;
//! let step = env.step(&[0.5, -0.5], observation.as_mut())?;
//! assert!(!step.done());
//! # }
//! # Ok::<(), rl755_env::EnvError>(())
//! ```
//!
//! Without the feature `mujoco` the ids are there all the same, and making one says what to do.

#[cfg(feature = "mujoco")]
mod environment;
#[cfg(feature = "mujoco")]
mod library;
#[cfg(feature = "mujoco")]
mod model_scene;
#[cfg(feature = "render")]
mod renderer;
#[cfg(feature = "mujoco")]
mod task;
#[cfg(feature = "mujoco")]
pub mod tasks;
#[cfg(feature = "window")]
mod window;

#[cfg(feature = "mujoco")]
pub use environment::MujocoEnv;
#[cfg(feature = "mujoco")]
pub use mujoco_rs;
#[cfg(feature = "mujoco")]
pub use task::{Facts, Outcome, Picture, Simulation, Task, View};
#[cfg(feature = "window")]
pub use window::run_window;

use rl755_env::EnvRegistry;

/// The ids that [`register`] registers.
pub const IDS: [&str; 10] = [
    "Ant-v5",
    "HalfCheetah-v5",
    "Hopper-v5",
    "Humanoid-v5",
    "InvertedDoublePendulum-v5",
    "InvertedPendulum-v5",
    "Pusher-v5",
    "Reacher-v5",
    "Swimmer-v5",
    "Walker2d-v5",
];

/// Whether they draw pictures: with the feature `render`.
pub const DRAWS: bool = cfg!(feature = "render");

/// Registers the environments of [`IDS`], which take Gymnasium's settings as options.
#[cfg(feature = "mujoco")]
pub fn register(registry: &mut EnvRegistry) {
    tasks::register(registry);
}

/// Registers the ids of [`IDS`]; making one says how to build with MuJoCo.
#[cfg(not(feature = "mujoco"))]
pub fn register(registry: &mut EnvRegistry) {
    for id in IDS {
        registry.add_with_options(id, move |_: serde::de::IgnoredAny| {
            Err(rl755_env::EnvError::Other {
                env: id.to_owned(),
                message: "this program was built without MuJoCo: run `cargo xtask setup --mujoco` \
                          and build it with `--features rl755-cli/mujoco`, or by `cargo xtask build`"
                    .to_owned(),
            })
        });
    }
}

#[cfg(all(test, not(feature = "mujoco")))]
mod tests {
    use super::*;

    #[test]
    fn without_mujoco_every_id_says_what_to_do() {
        let mut registry = EnvRegistry::default();
        register(&mut registry);
        assert_eq!(registry.ids(), IDS);
        for id in IDS.into_iter().chain(["Swimmer-v5:frame_skip=2"]) {
            let error = registry.make(id).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("cargo xtask setup --mujoco"), "{error}");
        }
    }
}
