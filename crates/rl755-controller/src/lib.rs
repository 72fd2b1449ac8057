//! Controllers on latent and hidden state: CMA-ES, evaluation in environments, videos.

mod canvas;
mod cma_es;
mod context;
mod controller;
mod controller_registry;
mod episode;
mod error;
mod evaluate;
mod learning_curve;
mod linear_controller;
mod rollout_group;
mod rollouts;
mod run;
mod squash;
mod tensor_file;
mod train;
mod train_config;
mod video;
mod world_model;

pub use cma_es::{BestMember, CmaEs, CmaEsConfig, CmaEsError, Covariance, Goal, NegativeWeights};
pub use context::{Resources, StageContext};
pub use controller::{Controller, ControllerInputs};
pub use controller_registry::{ControllerArchitecture, ControllerRegistry};
pub use episode::{Episode, EpisodeEnd, EpisodeLimits, TrackSet};
pub use error::ControllerError;
pub use evaluate::{EvaluateConfig, Player, Scores, evaluate_policy};
pub use linear_controller::{LinearConfig, LinearController};
pub use rollouts::{EpisodeTask, Rollouts};
pub use run::ControllerRun;
pub use squash::Squash;
pub use train::train_controller;
pub use train_config::TrainControllerConfig;
pub use world_model::{
    LoadedModel, ModelIdentity, WorldModel, WorldModelIdentity, encoder_checkpoint,
};
