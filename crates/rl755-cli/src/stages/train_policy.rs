//! `rl755-train-policy`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use rl755_controller::{
    Algorithm, PolicyConfig, PpoConfig, Resources, StageContext, TrainPolicyConfig, TrpoConfig,
    train_policy,
};
use rl755_run::{Outcome, TrainingConfig};

use super::train_controller::stage_context;
use crate::{
    Desk, Plugins, Stage,
    actors::Recipe,
    flag_values::{at_least_1, at_most, count, number, threads, units, whole},
    plot_flags::PlotFlags,
    stage::WITH_RESUME,
};

/// Train a policy by TRPO or PPO, on what an environment itself observes
#[derive(Clone, Debug, clap::Args)]
pub struct TrainPolicy {
    /// The environment's versioned id; its observations must be vectors
    #[arg(long, default_value = "CartPole-v1", value_name = "ID")]
    environment: String,
    /// How the policy is improved: `trpo` or `ppo`
    #[arg(long, default_value = "trpo", value_name = "NAME", value_parser = ["trpo", "ppo"])]
    algorithm: String,
    /// Where checkpoints, metrics and TensorBoard logs go
    #[arg(long, value_name = "DIR")]
    model_dir: PathBuf,
    /// Iterations: a batch of episodes and an update each
    #[arg(long, default_value_t = 40, value_name = "N", value_parser = at_least_1)]
    iterations: u64,
    /// Steps of a batch, at the least, from 1 to 1,000,000: its last episode is played to its end
    #[arg(long, default_value_t = 4000, value_name = "N", value_parser = count)]
    batch_size: usize,
    /// Steps after which an episode is broken off, at most 1,000,000 [default: the environment's own
    /// limit]
    #[arg(long, value_name = "N", value_parser = at_most::<1_000_000>)]
    max_steps: Option<u32>,
    /// Environments that are stepped at the same time, in a thread each [default: as many as
    /// --threads]. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads)]
    parallelism: Option<usize>,
    /// What a reward is worth a step earlier, from 0 to 1
    #[arg(long, default_value_t = 0.99, value_name = "F", value_parser = number)]
    discount: f64,
    /// λ of generalised advantage estimation, from 0 (trust the baseline) to 1 (trust the episode)
    #[arg(long, default_value_t = 0.97, value_name = "F", value_parser = number)]
    gae_lambda: f64,
    /// Units of each hidden layer of the policy, from 1 to 1024: `32,32`
    #[arg(long, default_value = "32,32", value_name = "N,N,…", value_delimiter = ',', value_parser = units)]
    hidden: Vec<usize>,
    /// The first standard deviation of continuous actions, of which each is from -1 to 1 for the
    /// policy; from 0.001 to 10
    #[arg(long, default_value_t = 1.0, value_name = "F", value_parser = number)]
    initial_std: f64,
    /// TRPO: the greatest mean KL divergence of an update, from 1e-6 to 1 [default: 0.01]
    #[arg(long, value_name = "F", value_parser = number)]
    max_kl: Option<f64>,
    /// TRPO: iterations of conjugate gradients, from 1 to 1000 [default: 10]
    #[arg(long, value_name = "N", value_parser = at_most::<1000>)]
    cg_iterations: Option<u32>,
    /// TRPO: added to the diagonal of the Fisher information matrix, from 0 to 100 [default: 0.1]
    #[arg(long, value_name = "F", value_parser = number)]
    damping: Option<f64>,
    /// TRPO: what a step is multiplied by in the line search, above 0 and below 1
    /// [default: 0.8]
    #[arg(long, value_name = "F", value_parser = number)]
    backtrack_ratio: Option<f64>,
    /// TRPO: steps that the line search tries, from 1 to 100 [default: 15]
    #[arg(long, value_name = "N", value_parser = at_most::<100>)]
    max_backtracks: Option<u32>,
    /// PPO: how far the probability of an action may go, in relation to what it was, above 0 and
    /// below 1 [default: 0.2]
    #[arg(long, value_name = "F", value_parser = number)]
    clip: Option<f64>,
    /// PPO: passes over a batch, from 1 to 1000 [default: 10]
    #[arg(long, value_name = "N", value_parser = at_most::<1000>)]
    epochs: Option<u32>,
    /// PPO: steps that a gradient is the mean of, from 1 to 1,000,000 [default: 64]
    #[arg(long, value_name = "N", value_parser = count)]
    minibatch_size: Option<usize>,
    /// PPO: Adam's step size, above 0 and at most 1 [default: 0.0003]
    #[arg(long, value_name = "F", value_parser = number)]
    learning_rate: Option<f64>,
    /// PPO: what entropy is worth, from 0 to 10 [default: 0]
    #[arg(long, value_name = "F", value_parser = number)]
    entropy: Option<f64>,
    /// PPO: gradients of a greater norm are scaled down to it; above 0 [default: 0.5]
    #[arg(long, value_name = "F", value_parser = number)]
    max_gradient_norm: Option<f64>,
    /// A checkpoint every N iterations
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = at_least_1)]
    save_every_n_steps: u64,
    /// What weights, episodes and actions are drawn from
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = whole)]
    seed: u64,
    /// Go on with the run in --model-dir, if there is one
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    plot: PlotFlags,
}

impl Stage for TrainPolicy {
    const NAME: &'static str = "rl755-train-policy";
    const UNIT: &'static str = "iterations";
    const INTERRUPTED: &'static str = WITH_RESUME;

    fn run(self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        let algorithm = self.algorithm()?;
        let config = TrainPolicyConfig {
            environment: self.environment,
            algorithm,
            policy: PolicyConfig { hidden: self.hidden, initial_std: self.initial_std },
            batch_size: self.batch_size,
            horizon: self.max_steps,
            discount: self.discount,
            gae_lambda: self.gae_lambda,
            training: TrainingConfig {
                train_steps: self.iterations,
                save_every_n_steps: self.save_every_n_steps,
                log_every_n_steps: 1,
            },
            seed: self.seed,
        };
        let model_dir = self.model_dir.as_path();
        let watcher = self.plot.start(plugins, desk, model_dir, config.horizon, || {
            let env = plugins.environments.make(&config.environment)?;
            let parameters = config.policy.num_parameters(env.spec())?;
            let recipe = Recipe::Policy(config.policy.clone());
            Ok(recipe.subject(&config.environment, parameters)?)
        })?;
        let context = stage_context(plugins, desk, 1);
        let threads = self.parallelism.unwrap_or(context.resources.threads);
        let context = StageContext {
            resources: Resources { threads, ..context.resources },
            spectator: watcher.spectator(),
            ..context
        };
        let outcome = train_policy(&config, model_dir, self.resume, &context)
            .with_context(|| format!("training a policy in {}", model_dir.display()))?;
        watcher.close(desk);
        desk.print_trained::<Self>(model_dir, outcome)
    }
}

impl TrainPolicy {
    /// The algorithm with its flags.
    fn algorithm(&self) -> anyhow::Result<Algorithm> {
        let of_trpo = [
            ("max-kl", self.max_kl.is_some()),
            ("cg-iterations", self.cg_iterations.is_some()),
            ("damping", self.damping.is_some()),
            ("backtrack-ratio", self.backtrack_ratio.is_some()),
            ("max-backtracks", self.max_backtracks.is_some()),
        ];
        let of_ppo = [
            ("clip", self.clip.is_some()),
            ("epochs", self.epochs.is_some()),
            ("minibatch-size", self.minibatch_size.is_some()),
            ("learning-rate", self.learning_rate.is_some()),
            ("entropy", self.entropy.is_some()),
            ("max-gradient-norm", self.max_gradient_norm.is_some()),
        ];
        let is_trpo = self.algorithm == "trpo";
        let (others, other): (&[_], _) =
            if is_trpo { (&of_ppo, "ppo") } else { (&of_trpo, "trpo") };
        if let Some((flag, _)) = others.iter().find(|(_, given)| *given) {
            bail!("--{flag} is for --algorithm {other}, not {}", self.algorithm);
        }
        Ok(if is_trpo {
            let default = TrpoConfig::default();
            Algorithm::Trpo(TrpoConfig {
                max_kl: self.max_kl.unwrap_or(default.max_kl),
                cg_iterations: self.cg_iterations.unwrap_or(default.cg_iterations),
                damping: self.damping.unwrap_or(default.damping),
                backtrack_ratio: self.backtrack_ratio.unwrap_or(default.backtrack_ratio),
                max_backtracks: self.max_backtracks.unwrap_or(default.max_backtracks),
            })
        } else {
            let default = PpoConfig::default();
            Algorithm::Ppo(PpoConfig {
                clip: self.clip.unwrap_or(default.clip),
                epochs: self.epochs.unwrap_or(default.epochs),
                minibatch_size: self.minibatch_size.unwrap_or(default.minibatch_size),
                learning_rate: self.learning_rate.unwrap_or(default.learning_rate),
                entropy: self.entropy.unwrap_or(default.entropy),
                max_gradient_norm: self.max_gradient_norm.unwrap_or(default.max_gradient_norm),
            })
        })
    }
}
