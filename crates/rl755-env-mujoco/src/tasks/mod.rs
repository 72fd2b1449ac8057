//! Gymnasium's tasks. The fields of each are Gymnasium's settings, and the options behind its id.

mod ant;
mod half_cheetah;
mod hopper;
mod humanoid;
mod inverted_double_pendulum;
mod inverted_pendulum;
mod pusher;
mod reacher;
mod settings;
mod swimmer;
mod walker2d;

use rl755_env::{EnvError, EnvRegistry};
use serde::de::DeserializeOwned;

pub use ant::Ant;
pub use half_cheetah::HalfCheetah;
pub use hopper::Hopper;
pub use humanoid::Humanoid;
pub use inverted_double_pendulum::InvertedDoublePendulum;
pub use inverted_pendulum::InvertedPendulum;
pub use pusher::Pusher;
pub use reacher::Reacher;
pub use swimmer::Swimmer;
pub use walker2d::Walker2d;

use crate::{IDS, MujocoEnv, Task};

pub(crate) fn register(registry: &mut EnvRegistry) {
    add::<Ant>(registry);
    add::<HalfCheetah>(registry);
    add::<Hopper>(registry);
    add::<Humanoid>(registry);
    add::<InvertedDoublePendulum>(registry);
    add::<InvertedPendulum>(registry);
    add::<Pusher>(registry);
    add::<Reacher>(registry);
    add::<Swimmer>(registry);
    add::<Walker2d>(registry);
}

fn add<T: Task + Default + DeserializeOwned>(registry: &mut EnvRegistry) {
    registry
        .add_with_options(T::default().facts().id, |task: T| Ok(Box::new(MujocoEnv::new(task)?)));
}

/// The environment `id` with its default settings; unlike a registry's it has no time limit, and gives
/// its observation in full precision.
///
/// # Errors
/// When none is called so, or MuJoCo's library is another version.
pub fn make(id: &str) -> Result<MujocoEnv, EnvError> {
    match id {
        "Ant-v5" => MujocoEnv::new(Ant::default()),
        "HalfCheetah-v5" => MujocoEnv::new(HalfCheetah::default()),
        "Hopper-v5" => MujocoEnv::new(Hopper::default()),
        "Humanoid-v5" => MujocoEnv::new(Humanoid::default()),
        "InvertedDoublePendulum-v5" => MujocoEnv::new(InvertedDoublePendulum::default()),
        "InvertedPendulum-v5" => MujocoEnv::new(InvertedPendulum::default()),
        "Pusher-v5" => MujocoEnv::new(Pusher::default()),
        "Reacher-v5" => MujocoEnv::new(Reacher::default()),
        "Swimmer-v5" => MujocoEnv::new(Swimmer::default()),
        "Walker2d-v5" => MujocoEnv::new(Walker2d::default()),
        _ => Err(EnvError::UnknownId {
            id: id.to_owned(),
            nearest: None,
            known: IDS.map(str::to_owned).to_vec(),
        }),
    }
}
