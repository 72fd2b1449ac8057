//! What a policy is trained with.

use std::ops::RangeInclusive;

use rl755_env::EnvSpec;
use rl755_run::{SettingError, TrainingConfig};
use serde::{Deserialize, Serialize};

use super::{outlook::MOST_PARTS, policy::Policy};
use crate::ControllerError;

/// The longest episode that is kept in memory.
const LONGEST: u32 = 1_000_000;

/// The greatest number of environment steps of a batch.
const LARGEST_BATCH: u64 = 1_000_000;

/// Numbers of 64 bits that a training may hold: 4 GiB.
const MOST_NUMBERS: usize = 1 << 29;

/// The whole training of a policy: the config in its run's manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainPolicyConfig {
    /// The environment's id. Default `CartPole-v1`.
    pub environment: String,
    /// How the policy is improved. Default TRPO.
    pub algorithm: Algorithm,
    /// What acts.
    pub policy: PolicyConfig,
    /// Steps of an iteration, at the least: episodes are played until there are as many, and the
    /// last one to its end, as rllab does. From 1 to 1,000,000. Default 4000, as rllab.
    pub batch_size: usize,
    /// Steps after which an episode is broken off, from 1 to 1,000,000; `None` for the environment's
    /// own limit, the default.
    pub horizon: Option<u32>,
    /// What a reward is worth a step earlier, from 0 to 1: γ. Default 0.99, as rllab.
    pub discount: f64,
    /// From 0 (advantages trust the baseline) to 1 (they trust the episode): λ of generalised
    /// advantage estimation. Default 0.97.
    pub gae_lambda: f64,
    /// Iterations (`train_steps`), checkpoints, logging. Default 40 iterations, as rllab, a
    /// checkpoint every 10, all logged.
    pub training: TrainingConfig,
    /// What weights, episodes and actions derive from. Default 0.
    pub seed: u64,
}

impl Default for TrainPolicyConfig {
    fn default() -> Self {
        Self {
            environment: "CartPole-v1".to_owned(),
            algorithm: Algorithm::default(),
            policy: PolicyConfig::default(),
            batch_size: 4000,
            horizon: None,
            discount: 0.99,
            gae_lambda: 0.97,
            training: TrainingConfig {
                train_steps: 40,
                save_every_n_steps: 10,
                log_every_n_steps: 1,
            },
            seed: 0,
        }
    }
}

/// How a policy is improved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Algorithm {
    /// Trust region policy optimisation.
    Trpo(TrpoConfig),
    /// Proximal policy optimisation.
    Ppo(PpoConfig),
}

impl Default for Algorithm {
    fn default() -> Self {
        Self::Trpo(TrpoConfig::default())
    }
}

impl Algorithm {
    /// `trpo` or `ppo`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Trpo(_) => "trpo",
            Self::Ppo(_) => "ppo",
        }
    }
}

/// A policy: a multilayer perceptron with tanh, whose outputs are the odds of discrete actions or the
/// mean of continuous ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyConfig {
    /// Units of each hidden layer, from 1 to 1024 each, in at most 8 layers. Default 32 and 32, as
    /// rllab.
    pub hidden: Vec<usize>,
    /// The first standard deviation of continuous actions, each of which is from -1 to 1 for the
    /// policy. From 1e-3 to 10. Default 1, as rllab.
    pub initial_std: f64,
}

impl Default for PolicyConfig {
    fn default() -> Self {
        Self { hidden: vec![32, 32], initial_std: 1.0 }
    }
}

/// Trust region policy optimisation (Schulman et al. 2015): the natural gradient by conjugate
/// gradients, then a line search within the trust region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrpoConfig {
    /// The trust region: the greatest mean KL divergence of the policy from what it was, from 1e-6
    /// to 1. Default 0.01, as rllab.
    pub max_kl: f64,
    /// Iterations of conjugate gradients, from 1 to 1000. Default 10, as rllab.
    pub cg_iterations: u32,
    /// Added to the diagonal of the Fisher information matrix, from 0 to 100. Default 0.1: with
    /// rllab's 1e-5, directions the batch says nothing of spoil the step on CartPole.
    pub damping: f64,
    /// What the step is multiplied by where it leaves the trust region or does not improve, above 0
    /// and below 1. Default 0.8, as rllab.
    pub backtrack_ratio: f64,
    /// Steps that are tried, from 1 to 100. Default 15, as rllab.
    pub max_backtracks: u32,
}

impl Default for TrpoConfig {
    fn default() -> Self {
        Self {
            max_kl: 0.01,
            cg_iterations: 10,
            damping: 0.1,
            backtrack_ratio: 0.8,
            max_backtracks: 15,
        }
    }
}

/// Proximal policy optimisation (Schulman et al. 2017) with the clipped objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PpoConfig {
    /// How far the probability of an action may go from what it was, in relation to it, before it is
    /// no longer rewarded; above 0 and below 1. Default 0.2.
    pub clip: f64,
    /// Passes over a batch, from 1 to 1000. Default 10.
    pub epochs: u32,
    /// Steps that a gradient is the mean of, from 1 to 1,000,000. Default 64.
    pub minibatch_size: usize,
    /// Adam's step size, above 0 and at most 1. Default 3e-4.
    pub learning_rate: f64,
    /// What entropy is worth, from 0 to 10. Default 0.
    pub entropy: f64,
    /// Gradients of a greater norm are scaled down to it; above 0. Default 0.5.
    pub max_gradient_norm: f64,
}

impl Default for PpoConfig {
    fn default() -> Self {
        Self {
            clip: 0.2,
            epochs: 10,
            minibatch_size: 64,
            learning_rate: 3e-4,
            entropy: 0.0,
            max_gradient_norm: 0.5,
        }
    }
}

impl TrainPolicyConfig {
    /// Rejects numbers that nothing can be trained with.
    pub(super) fn check(&self) -> Result<(), SettingError> {
        self.training.check()?;
        self.policy.check()?;
        SettingError::check_range(LARGEST_BATCH, [("batch_size", self.batch_size as u64)])?;
        let horizon = self.horizon.map_or(1, u64::from);
        SettingError::check_range(u64::from(LONGEST), [("horizon", horizon)])?;
        within("discount", self.discount, 0.0..=1.0)?;
        within("gae_lambda", self.gae_lambda, 0.0..=1.0)?;
        match &self.algorithm {
            Algorithm::Trpo(config) => config.check(),
            Algorithm::Ppo(config) => config.check(),
        }
    }

    /// Steps after which an episode in the environment of `spec` is broken off.
    pub(super) fn limit(&self, spec: &EnvSpec) -> Result<u32, SettingError> {
        match self.horizon.into_iter().chain(spec.max_episode_steps).min() {
            Some(limit) if (1..=LONGEST).contains(&limit) => Ok(limit),
            Some(0) => {
                let expected = format!("at least 1 for {} to have a step", spec.id);
                Err(SettingError::new("max_episode_steps", 0, expected))
            }
            _ => {
                let expected = format!(
                    "from 1 to {LONGEST}, as {} does not end its episodes within as many steps",
                    spec.id
                );
                Err(SettingError::new("horizon", "not given", expected))
            }
        }
    }

    /// Rejects a batch that does not fit into memory.
    pub(super) fn check_memory(&self, policy: &Policy, limit: u32) -> Result<(), SettingError> {
        let rows = self.batch_size.saturating_add(limit as usize);
        let rows = rows.saturating_mul(policy.numbers_per_row());
        // A gradient for each part of the rows, and what optimisers keep.
        let parameters = policy.num_parameters().saturating_mul(MOST_PARTS + 16);
        let numbers = rows.saturating_add(parameters);
        if numbers <= MOST_NUMBERS {
            return Ok(());
        }
        let expected = format!(
            "so small that what is kept of its steps is at most {MOST_NUMBERS} numbers; now it is \
             {numbers}"
        );
        Err(SettingError::new("batch_size", self.batch_size, expected))
    }
}

impl PolicyConfig {
    /// How many parameters such a policy has in an environment of `spec`.
    ///
    /// # Errors
    /// When a setting is out of its range, or a policy cannot act there.
    pub fn num_parameters(&self, spec: &EnvSpec) -> Result<usize, ControllerError> {
        Ok(Policy::new(spec, self)?.num_parameters())
    }

    pub(super) fn check(&self) -> Result<(), SettingError> {
        if self.hidden.len() > 8 {
            let layers = format!("{} layers", self.hidden.len());
            return Err(SettingError::new("hidden", layers, "at most 8 layers"));
        }
        for &units in &self.hidden {
            SettingError::check_range(1024, [("hidden", units as u64)])?;
        }
        within("initial_std", self.initial_std, 1e-3..=10.0)
    }
}

impl TrpoConfig {
    fn check(&self) -> Result<(), SettingError> {
        within("max_kl", self.max_kl, 1e-6..=1.0)?;
        SettingError::check_range(1000, [("cg_iterations", self.cg_iterations.into())])?;
        within("damping", self.damping, 0.0..=100.0)?;
        between("backtrack_ratio", self.backtrack_ratio, 1.0)?;
        SettingError::check_range(100, [("max_backtracks", self.max_backtracks.into())])
    }
}

impl PpoConfig {
    fn check(&self) -> Result<(), SettingError> {
        between("clip", self.clip, 1.0)?;
        SettingError::check_range(1000, [("epochs", self.epochs.into())])?;
        SettingError::check_range(LARGEST_BATCH, [("minibatch_size", self.minibatch_size as u64)])?;
        within("learning_rate", self.learning_rate, f64::MIN_POSITIVE..=1.0)?;
        within("entropy", self.entropy, 0.0..=10.0)?;
        between("max_gradient_norm", self.max_gradient_norm, f64::INFINITY)
    }
}

/// Rejects what is not in `range`; NaN never is.
fn within(field: &'static str, value: f64, range: RangeInclusive<f64>) -> Result<(), SettingError> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, greatest) = range.into_inner();
    let expected = if least == f64::MIN_POSITIVE {
        format!("above 0 and at most {greatest}")
    } else {
        format!("from {least} to {greatest}")
    };
    Err(SettingError::new(field, value, expected))
}

/// Rejects what is not above 0 and below `limit`.
fn between(field: &'static str, value: f64, limit: f64) -> Result<(), SettingError> {
    if value > 0.0 && value < limit {
        return Ok(());
    }
    let expected = match limit {
        f64::INFINITY => "above 0 and finite".to_owned(),
        limit => format!("above 0 and below {limit}"),
    };
    Err(SettingError::new(field, value, expected))
}
