//! Controllers on latent and hidden state by CMA-ES, policies by policy gradients, evaluation.
//!
//! A [`Controller`] is an architecture, known by name to a [`ControllerRegistry`]; its parameters
//! are a vector that [`CmaEs`] evolves. [`Rollouts`] plays the episodes of a whole generation in
//! batches through a [`WorldModel`]. [`train_controller`] does all that in a run directory, and a
//! [`Player`] evaluates and films what came of it. [`train_policy`] does without a world model: a
//! perceptron by TRPO or PPO, which a [`PolicyPlayer`] evaluates and films.
//!
//! ```
//! use rl755_controller::{ControllerInputs, ControllerRegistry};
//! use rl755_env::EnvRegistry;
//!
//! let env = EnvRegistry::with_builtin().make("CarRacing-v3")?;
//! let action_space = env.spec().action_space.clone();
//! let inputs = ControllerInputs { latent_size: 32, hidden_size: 256, action_space };
//! let config = serde_json::json!({ "squash": ["tanh", "sigmoid", "clipped_tanh"] });
//! let linear = ControllerRegistry::with_builtin().make("linear", &inputs, &config)?;
//! assert_eq!(linear.num_parameters(), (32 + 256 + 1) * 3);
//! # Ok::<(), rl755_controller::ControllerError>(())
//! ```

mod canvas;
mod cma_es;
mod context;
mod controller;
mod controller_registry;
mod episode;
mod error;
mod evaluate;
mod evaluation;
mod learning_curve;
mod linear_controller;
mod policy_gradient;
mod rollout_group;
mod rollouts;
mod run;
mod scores;
mod squash;
mod tensor_file;
mod train;
mod train_config;
mod world_model;

pub use cma_es::{BestMember, CmaEs, CmaEsConfig, CmaEsError, Covariance, Goal, NegativeWeights};
pub use context::{Resources, StageContext};
pub use controller::{Controller, ControllerInputs};
pub use controller_registry::{ControllerArchitecture, ControllerRegistry};
pub use episode::{Episode, EpisodeEnd, EpisodeLimits, TrackSet};
pub use error::ControllerError;
pub use evaluate::{EvaluateConfig, Player, PolicyPlayer};
pub use evaluation::Evaluation;
pub use linear_controller::{LinearConfig, LinearController};
pub use policy_gradient::{
    Algorithm, PolicyConfig, PpoConfig, TrainPolicyConfig, TrainedPolicy, TrpoConfig, train_policy,
};
pub use rollouts::{EpisodeTask, Rollouts};
pub use run::ControllerRun;
pub use scores::Scores;
pub use squash::Squash;
pub use train::train_controller;
pub use train_config::TrainControllerConfig;
pub use world_model::{LoadedModel, WorldModel, WorldModelIdentity};
