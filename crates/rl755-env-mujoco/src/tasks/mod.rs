//! Gymnasium's tasks. The fields of each are Gymnasium's settings, and the options behind its id.

mod settings;
mod swimmer;

use rl755_env::{EnvError, EnvRegistry};
use serde::de::DeserializeOwned;

pub use swimmer::Swimmer;

use crate::{IDS, MujocoEnv, Task};

pub(crate) fn register(registry: &mut EnvRegistry) {
    add::<Swimmer>(registry);
}

fn add<T: Task + Default + DeserializeOwned>(registry: &mut EnvRegistry) {
    registry
        .add_with_options(T::default().facts().id, |task: T| Ok(Box::new(MujocoEnv::new(task)?)));
}

/// The environment `id` with its default settings; with its own type, other than from a registry,
/// so that [`MujocoEnv::observation`] is at hand.
///
/// # Errors
/// When none is called so.
pub fn make(id: &str) -> Result<MujocoEnv, EnvError> {
    match id {
        "Swimmer-v5" => MujocoEnv::new(Swimmer::default()),
        _ => Err(EnvError::UnknownId {
            id: id.to_owned(),
            nearest: None,
            known: IDS.map(str::to_owned).to_vec(),
        }),
    }
}
