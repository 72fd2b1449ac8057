//! What a program knows by name: environments, policies, datasets, encoders, sequence models and
//! controllers.

use rl755_controller::ControllerRegistry;
use rl755_data::{DatasetRegistry, PolicyRegistry};
use rl755_encoder::EncoderRegistry;
use rl755_env::EnvRegistry;
use rl755_sequence::SequenceRegistry;

/// The registries of a program. A downstream crate adds its own types to them in its `main`.
#[non_exhaustive]
pub struct Plugins {
    /// Environments by versioned id.
    pub environments: EnvRegistry,
    /// Policies that collect rollouts.
    pub policies: PolicyRegistry,
    /// Datasets.
    pub datasets: DatasetRegistry,
    /// Observation encoders.
    pub encoders: EncoderRegistry,
    /// Sequence models.
    pub sequences: SequenceRegistry,
    /// Controllers.
    pub controllers: ControllerRegistry,
}

impl Plugins {
    /// What rl755 itself brings.
    pub fn with_builtin() -> Self {
        let mut environments = EnvRegistry::with_builtin();
        rl755_env_mujoco::register(&mut environments);
        Self {
            environments,
            policies: PolicyRegistry::with_builtin(),
            datasets: DatasetRegistry::with_builtin(),
            encoders: EncoderRegistry::with_builtin(),
            sequences: SequenceRegistry::with_builtin(),
            controllers: ControllerRegistry::with_builtin(),
        }
    }
}
