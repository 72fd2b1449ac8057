//! Training a policy in a run directory.

use std::{fs, path::Path};

use rl755_env::{Env, EnvSpec};
use rl755_run::{
    Manifest, Outcome, Random, RunDir, RunError, Trainee, TrainingError, derive_seed,
    train as train_loop,
};
use serde::{Deserialize, Serialize};

use super::{
    adam::Adam,
    advantages::{Discounts, batch_of},
    baseline::Baseline,
    config::{Algorithm, TrainPolicyConfig},
    policy::{Policy, mean},
    ppo::ppo_step,
    sampler::{Sampling, Trajectory, sample},
    trained_policy::{POLICY, RunConfig, STAGE},
    trpo::trpo_step,
};
use crate::{
    ControllerError, StageContext,
    tensor_file::{Tensor, read_tensors, write_tensors},
    train::mean_and_std,
};

/// The file of a checkpoint with the training's counts and what its last iteration saw.
const COUNTS: &str = "counts.json";

/// The name of the baseline's coefficients.
const BASELINE: &str = "baseline";

/// Trains a policy in its environment, in `model_dir`, or, with `resume`, goes on with an earlier
/// training.
///
/// A step is an iteration: a batch of episodes, played by as many threads as the resources say, then
/// one update. Its metrics are `return_mean`, `return_std`, `return_min` and `return_max` of the batch's
/// episodes, `episodes`, `episode_length` (the mean) and `environment_steps` (of the whole training);
/// `explained_variance` of the baseline; `kl`, `surrogate_gain`, `entropy`, and with continuous actions
/// `std`, the mean standard deviation. TRPO adds `backtracks` and `rejected`, 1 where no step of the
/// line search was any good and the policy stays as it was; PPO `clipped`, the share of actions whose
/// probability is beyond the clip. The same config gives the same bits whatever the resources.
///
/// # Errors
/// When the config and the environment do not fit together, a number is not finite, an environment
/// fails, or the disk does. What was saved before stays.
pub fn train_policy(
    config: &TrainPolicyConfig,
    model_dir: &Path,
    resume: bool,
    context: &StageContext<'_>,
) -> Result<Outcome, ControllerError> {
    config.check()?;
    let first = context.environments.make(&config.environment)?;
    let spec = first.spec().clone();
    let policy = Policy::new(&spec, &config.policy)?;
    let limit = config.limit(&spec)?;
    config.check_memory(&policy, limit)?;
    // An episode has at least a step.
    let threads = context.resources.threads.clamp(1, config.batch_size);
    let mut envs = vec![first];
    for _ in 1..threads {
        envs.push(context.environments.make(&config.environment)?);
    }

    let run_config = RunConfig { training: config.clone(), environment: spec.clone() };
    let run_config = serde_json::to_value(run_config)
        .map_err(|e| RunError::Damaged { path: model_dir.into(), reason: e.to_string() })?;
    let name = config.algorithm.name();
    let manifest = Manifest::begin(STAGE, name, config.seed, run_config, Vec::new());
    let mut run = RunDir::begin(model_dir, manifest, resume)?;
    if run.is_complete() {
        context.progress.line(&format!("{} is complete already", model_dir.display()));
        return Ok(Outcome::Complete);
    }
    let mut random = Random::derived(config.seed, "weights", 0);
    let parameters = policy.initial(config.policy.initial_std, &mut random);
    let mut trainee = PolicyTraining {
        config,
        context,
        limit,
        envs,
        baseline: Baseline::default(),
        adam: Adam::new(parameters.len()),
        parameters,
        policy,
        counts: Counts::default(),
        spec,
    };
    let training = &config.training;
    let outcome =
        train_loop(&mut run, training, &mut trainee, context.progress, context.interrupt)?;
    if outcome == Outcome::Complete {
        run.complete(trainee.results())?;
    }
    Ok(outcome)
}

/// What a training counts, and the returns of its last iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    environment_steps: u64,
    /// Of Adam.
    gradient_steps: u64,
    return_mean: f64,
    return_std: f64,
    episodes: u64,
}

/// A training in progress.
struct PolicyTraining<'a> {
    config: &'a TrainPolicyConfig,
    context: &'a StageContext<'a>,
    spec: EnvSpec,
    /// Steps after which an episode is broken off.
    limit: u32,
    envs: Vec<Box<dyn Env>>,
    policy: Policy,
    parameters: Vec<f64>,
    baseline: Baseline,
    /// Of PPO.
    adam: Adam,
    counts: Counts,
}

impl PolicyTraining<'_> {
    /// What the manifest says came out: the returns of the last iteration.
    fn results(&self) -> serde_json::Map<String, serde_json::Value> {
        let counts = &self.counts;
        [
            ("environment", self.spec.id.clone().into()),
            ("rules", self.spec.rules.clone().into()),
            ("return_mean", counts.return_mean.into()),
            ("return_std", counts.return_std.into()),
            ("episodes", counts.episodes.into()),
            ("environment_steps", counts.environment_steps.into()),
        ]
        .map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value))
        .into_iter()
        .collect()
    }

    /// Notes the episodes of an iteration, and gives their metrics.
    fn count(&mut self, trajectories: &[Trajectory]) -> Vec<(&'static str, f64)> {
        let returns: Vec<f64> = trajectories.iter().map(|t| t.rewards.iter().sum()).collect();
        let steps: usize = trajectories.iter().map(|t| t.rewards.len()).sum();
        let (return_mean, return_std) = mean_and_std(&returns);
        self.counts.environment_steps += steps as u64;
        self.counts.episodes = returns.len() as u64;
        (self.counts.return_mean, self.counts.return_std) = (return_mean, return_std);
        vec![
            ("return_mean", return_mean),
            ("return_std", return_std),
            ("return_min", returns.iter().copied().fold(f64::INFINITY, f64::min)),
            ("return_max", returns.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            ("episodes", returns.len() as f64),
            ("episode_length", steps as f64 / returns.len() as f64),
            ("environment_steps", self.counts.environment_steps as f64),
        ]
    }
}

impl Trainee for PolicyTraining<'_> {
    fn step(&mut self, step: u64) -> Result<Vec<(String, f64)>, TrainingError> {
        let config = self.config;
        let sampling = Sampling {
            policy: &self.policy,
            parameters: &self.parameters,
            batch_size: config.batch_size,
            limit: self.limit,
            seed: config.seed,
            step,
        };
        let trajectories =
            sample(&mut self.envs, sampling, self.context.progress, self.context.interrupt)?;
        let mut metrics = self.count(&trajectories);
        let discounts = Discounts { discount: config.discount, gae_lambda: config.gae_lambda };
        let observed = self.spec.observation_space.width();
        let widths = (observed, self.policy.distribution().action_width());
        let (batch, explained) = batch_of(&trajectories, widths, &mut self.baseline, discounts);
        drop(trajectories);
        metrics.push(("explained_variance", explained));
        match &config.algorithm {
            Algorithm::Trpo(config) => {
                let report = trpo_step(&self.policy, &mut self.parameters, &batch, config);
                metrics.extend([
                    ("kl", report.divergence),
                    ("surrogate_gain", report.gain),
                    ("backtracks", f64::from(report.backtracks)),
                    ("rejected", f64::from(u8::from(report.rejected))),
                ]);
            }
            Algorithm::Ppo(ppo) => {
                let seed = derive_seed(config.seed, "epochs", step);
                let (parameters, adam) = (&mut self.parameters, &mut self.adam);
                let report = ppo_step(&self.policy, parameters, adam, &batch, ppo, seed);
                metrics.extend([
                    ("kl", report.divergence),
                    ("surrogate_gain", report.gain),
                    ("clipped", report.clipped),
                ]);
            }
        }
        if !self.parameters.iter().all(|value| value.is_finite()) {
            return Err(TrainingError::NotFinite { tensor: "the policy".to_owned(), step });
        }
        let outlook = self.policy.look(&self.parameters, batch.observations.view());
        metrics.push(("entropy", self.policy.mean_entropy(&outlook)));
        let std: Vec<f64> = self.policy.log_std(&self.parameters).iter().map(|l| l.exp()).collect();
        if !std.is_empty() {
            metrics.push(("std", mean(&std)));
        }
        let single: Vec<f32> = self.parameters.iter().map(|value| *value as f32).collect();
        self.context.spectator.update(step, &single);
        Ok(metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn save(&self, directory: &Path) -> Result<(), TrainingError> {
        let vector = |name, values: &[f64]| Tensor::new(name, &[values.len()], values);
        let mut tensors = vec![
            vector("parameters", &self.parameters),
            vector(BASELINE, &self.baseline.coefficients),
        ];
        if matches!(self.config.algorithm, Algorithm::Ppo(_)) {
            tensors.push(vector("adam.first", &self.adam.first));
            tensors.push(vector("adam.second", &self.adam.second));
        }
        write_tensors(&directory.join(POLICY), &tensors)?;
        let counts = Counts { gradient_steps: self.adam.steps, ..self.counts.clone() };
        let counts = serde_json::to_vec_pretty(&counts).map_err(std::io::Error::from)?;
        Ok(fs::write(directory.join(COUNTS), counts)?)
    }

    fn load(&mut self, directory: &Path) -> Result<(), TrainingError> {
        let damaged = |file: &str| {
            let path = directory.join(file).display().to_string();
            move |reason: String| TrainingError::Checkpoint { path: path.clone(), reason }
        };
        let mut tensors =
            read_tensors(&directory.join(POLICY)).map_err(|e| damaged(POLICY)(e.to_string()))?;
        let mut take = |name: &str, expected: usize| match tensors.remove(name) {
            Some((_, values)) if values.len() == expected => Ok(values),
            // A baseline that could not be fitted yet.
            Some((_, values)) if name == BASELINE && values.is_empty() => Ok(values),
            Some((_, values)) => {
                let reason = format!("{name} has {} numbers, not {expected}", values.len());
                Err(damaged(POLICY)(reason))
            }
            None => Err(damaged(POLICY)(format!("it has no {name}"))),
        };
        let count = self.parameters.len();
        let features = Baseline::num_features(self.spec.observation_space.width());
        self.parameters = take("parameters", count)?;
        self.baseline.coefficients = take(BASELINE, features)?;
        if matches!(self.config.algorithm, Algorithm::Ppo(_)) {
            self.adam.first = take("adam.first", count)?;
            self.adam.second = take("adam.second", count)?;
        }
        let text = fs::read(directory.join(COUNTS)).map_err(|e| damaged(COUNTS)(e.to_string()))?;
        self.counts = serde_json::from_slice(&text).map_err(|e| damaged(COUNTS)(e.to_string()))?;
        self.adam.steps = self.counts.gradient_steps;
        Ok(())
    }
}
