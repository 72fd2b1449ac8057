//! Gymnasium's tasks. The fields of each are Gymnasium's settings, and the options behind its id.
//!
//! Each file is to be read beside Gymnasium's of the same name, `gymnasium/envs/mujoco/NAME_v5.py`.

mod ant;
mod half_cheetah;
mod hopper;
mod humanoid;
mod inverted_double_pendulum;
mod inverted_pendulum;
mod pusher;
mod reacher;
mod reward;
mod rules;
mod settings;
mod state;
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

/// A task with its default settings as an environment, and what registers it with any settings.
struct Entry {
    id: &'static str,
    make: fn() -> Result<MujocoEnv, EnvError>,
    register: fn(&mut EnvRegistry),
}

fn entry<T: Task + Default + DeserializeOwned>() -> Entry {
    Entry {
        id: T::default().facts().id,
        make: || MujocoEnv::new(T::default()),
        register: |registry| {
            let id = T::default().facts().id;
            registry.add_with_options(id, |task: T| Ok(Box::new(MujocoEnv::new(task)?)));
        },
    }
}

fn entries() -> [Entry; IDS.len()] {
    [
        entry::<Ant>(),
        entry::<HalfCheetah>(),
        entry::<Hopper>(),
        entry::<Humanoid>(),
        entry::<InvertedDoublePendulum>(),
        entry::<InvertedPendulum>(),
        entry::<Pusher>(),
        entry::<Reacher>(),
        entry::<Swimmer>(),
        entry::<Walker2d>(),
    ]
}

pub(crate) fn register(registry: &mut EnvRegistry) {
    for entry in entries() {
        (entry.register)(registry);
    }
}

/// The environment `id` with its default settings; unlike a registry's it has no time limit, and gives
/// its observation in full precision.
///
/// # Errors
/// When none is called so, or MuJoCo's library is another version.
pub fn make(id: &str) -> Result<MujocoEnv, EnvError> {
    match entries().into_iter().find(|entry| entry.id == id) {
        Some(entry) => (entry.make)(),
        None => Err(EnvError::UnknownId {
            id: id.to_owned(),
            nearest: None,
            known: IDS.map(str::to_owned).to_vec(),
        }),
    }
}
