//! What a controller is trained with.

use rl755_run::{SettingError, TrainingConfig};
use serde::{Deserialize, Serialize};

use crate::{Covariance, NegativeWeights};

/// The whole training of a controller: the config in its run's manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainControllerConfig {
    /// The registered name of the controller. Default `linear`.
    pub controller: String,
    /// The controller's own settings; what is missing takes its defaults.
    pub controller_config: serde_json::Value,
    /// The environment's id. Default `CarRacing-v3`.
    pub environment: String,
    /// Members of a generation, at least 2. Default 64, as World Models.
    pub population: usize,
    /// Episodes of each member in a generation, all members on the same tracks. Default 16, as
    /// World Models.
    pub trials: usize,
    /// The first step size of CMA-ES. Default 0.1, as World Models (the original project: 0.5).
    pub sigma: f64,
    /// What CMA-ES learns of the covariance. Default full.
    pub covariance: Covariance,
    /// Whether CMA-ES learns from bad members, too. Default active.
    pub negative_weights: NegativeWeights,
    /// Steps after which an episode is broken off; `None` for the environment's own limit.
    /// Default 1000.
    pub horizon: Option<u32>,
    /// Steps in a row without a positive reward after which an episode in training is broken off,
    /// keeping the score it has: saves the time that hopeless members waste. Evaluations always
    /// play on. Default `None`, off.
    pub patience_steps: Option<u32>,
    /// Evaluate the mean of the distribution after every this many generations, and after the
    /// last. Default 10.
    pub evaluate_every_n_generations: u64,
    /// Tracks of an evaluation, the same ones every time and none of them trained on. Default 16.
    pub evaluation_episodes: usize,
    /// Generations (`train_steps`), checkpoints, logging. Default 300 generations, a checkpoint
    /// every 10, all logged.
    pub training: TrainingConfig,
    /// What members and tracks derive from. Default 0.
    pub seed: u64,
}

impl Default for TrainControllerConfig {
    fn default() -> Self {
        Self {
            controller: "linear".to_owned(),
            controller_config: serde_json::json!({}),
            environment: "CarRacing-v3".to_owned(),
            population: 64,
            trials: 16,
            sigma: 0.1,
            covariance: Covariance::Full,
            negative_weights: NegativeWeights::Active,
            horizon: Some(1000),
            patience_steps: None,
            evaluate_every_n_generations: 10,
            evaluation_episodes: 16,
            training: TrainingConfig {
                train_steps: 300,
                save_every_n_steps: 10,
                log_every_n_steps: 1,
            },
            seed: 0,
        }
    }
}

impl TrainControllerConfig {
    /// Rejects numbers that nothing can be trained with. (CMA-ES checks its own.)
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        self.training.check()?;
        SettingError::check_not_zero([
            ("trials", self.trials as u64),
            ("horizon", self.horizon.map_or(1, u64::from)),
            ("patience_steps", self.patience_steps.map_or(1, u64::from)),
            ("evaluate_every_n_generations", self.evaluate_every_n_generations),
            ("evaluation_episodes", self.evaluation_episodes as u64),
        ])
    }
}
