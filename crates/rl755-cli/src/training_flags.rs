//! Flags that every training has.

use std::path::PathBuf;

use anyhow::bail;
use burn::tensor::Device;
use rl755_nn::{Compute, Decay, OptimizerConfig, Precision, Schedule};
use rl755_run::{CheckpointPolicy, TrainingConfig};

use crate::flag_values::{at_least_1, decay, object, positive, whole};

// Flags of the trainings by gradient descent. (A doc comment would replace the stage's help text.)
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TrainingFlags {
    /// Where checkpoints, metrics and TensorBoard logs go
    #[arg(long, value_name = "DIR")]
    pub(crate) model_dir: PathBuf,
    /// Batches to train for
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = at_least_1)]
    train_steps: u64,
    /// A checkpoint (`model-001`, `model-002`, …), a validation and a picture every N steps
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = at_least_1)]
    save_every_n_steps: u64,
    /// Metrics, averaged, every N steps
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = at_least_1)]
    log_every_n_steps: u64,
    /// Adam's step size, after the warm-up
    #[arg(long, default_value_t = 1e-3, value_name = "F", value_parser = positive)]
    learning_rate: f64,
    /// How the step size falls after the warm-up: `constant` (it stays), `linear`, `cosine` or
    /// `exponential` (to --final-learning-rate at the last step), `step` (times --lr-decay-factor
    /// every --lr-decay-every steps) or `inverse-sqrt` (of the step, as the original transformer)
    #[arg(long, default_value = "constant", value_name = "NAME", value_parser = DecayKind::parse)]
    lr_schedule: DecayKind,
    /// Steps over which the step size rises from 0 in a straight line
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = whole)]
    warmup_steps: u64,
    /// The step size at the last step, with `linear`, `cosine` or `exponential`, at most
    /// --learning-rate [default: 0; a hundredth of --learning-rate with `exponential`]
    #[arg(long, value_name = "F")]
    final_learning_rate: Option<f64>,
    /// Steps at one step size, with `step` [default: 1000]
    #[arg(long, value_name = "N", value_parser = at_least_1)]
    lr_decay_every: Option<u64>,
    /// What the step size is multiplied by, with `step` [default: 0.5]
    #[arg(long, value_name = "F", value_parser = positive)]
    lr_decay_factor: Option<f64>,
    /// Gradients of a greater norm, taken together, are scaled down to it [default: 1 for the sequence
    /// models `mdn-rnn`, `lstm` and `infilling`; others have no limit]
    #[arg(long, value_name = "F", value_parser = positive)]
    max_gradient_norm: Option<f64>,
    /// Keep a moving average of the weights with this decay a step, from 0 to below 1, such as 0.999: it
    /// is what is validated and what later stages load; the training itself goes on with the weights
    /// [default: none]
    #[arg(long, value_name = "F", value_parser = decay)]
    ema_decay: Option<f64>,
    /// Stop after N checkpoints without a lower validation loss. With this flag later stages take the
    /// best checkpoint, also when it did not stop; without it they take the last [default: never]
    #[arg(long, value_name = "N", value_parser = at_least_1)]
    early_stopping: Option<u64>,
    /// The newest checkpoints to keep, beside the one with the lowest validation loss, or `all`
    #[arg(long, default_value = "5", value_name = "N", value_parser = Keep::parse)]
    keep_checkpoints: Keep,
    /// What to compute in: `f32`, or on a GPU `bf16` or `f16`, with weights and optimiser in `f32`
    #[arg(long, default_value = "f32", value_name = "NAME", value_parser = precision)]
    pub(crate) precision: Precision,
    /// Look at the batch, at what layers give and at the weights in every step, and stop at the first
    /// number that is not finite. Slower; losses and gradients are looked at anyway
    #[arg(long)]
    check_numerics: bool,
    /// Start from the weights in this safetensors file, such as model.safetensors of a checkpoint of
    /// the same architecture, or one written by docs/export_from_pytorch.py
    #[arg(long, value_name = "FILE")]
    pub(crate) init_weights: Option<PathBuf>,
    /// Settings of the model itself, as JSON: '{"NAME": VALUE}'. What is missing takes its default;
    /// --model names them
    #[arg(long, default_value = "{}", value_name = "JSON", value_parser = object)]
    pub(crate) model_config: serde_json::Value,
    /// What weights, batches and noise are drawn from
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = whole)]
    pub(crate) seed: u64,
    /// Go on with the run in --model-dir, if there is one
    #[arg(long)]
    pub(crate) resume: bool,
}

impl TrainingFlags {
    pub(crate) fn training(&self) -> TrainingConfig {
        TrainingConfig {
            train_steps: self.train_steps,
            save_every_n_steps: self.save_every_n_steps,
            log_every_n_steps: self.log_every_n_steps,
        }
    }

    /// Adam with these flags, and `defaults` for the rest.
    ///
    /// # Errors
    /// When flags of one schedule are given with another.
    pub(crate) fn optimizer(&self, defaults: OptimizerConfig) -> anyhow::Result<OptimizerConfig> {
        Ok(OptimizerConfig {
            learning_rate: self.learning_rate,
            max_gradient_norm: self.max_gradient_norm.or(defaults.max_gradient_norm),
            ema_decay: self.ema_decay.or(defaults.ema_decay),
            schedule: Schedule { warmup_steps: self.warmup_steps, decay: self.decay()? },
            ..defaults
        })
    }

    fn decay(&self) -> anyhow::Result<Decay> {
        let DecayKind(name) = self.lr_schedule;
        let falls = matches!(name, "linear" | "cosine" | "exponential");
        let steps = self.lr_decay_every.is_some() || self.lr_decay_factor.is_some();
        if self.final_learning_rate.is_some() && !falls {
            bail!("--final-learning-rate is of no use with --lr-schedule {name}");
        }
        if steps && name != "step" {
            bail!("--lr-decay-every and --lr-decay-factor are of no use with --lr-schedule {name}");
        }
        let final_rate = self.final_learning_rate.unwrap_or(0.0);
        let hundredth = self.final_learning_rate.unwrap_or(self.learning_rate / 100.0);
        Ok(match name {
            "linear" => Decay::Linear { final_rate },
            "cosine" => Decay::Cosine { final_rate },
            "exponential" => Decay::Exponential { final_rate: hundredth },
            "step" => Decay::Step {
                every: self.lr_decay_every.unwrap_or(1000),
                factor: self.lr_decay_factor.unwrap_or(0.5),
            },
            "inverse-sqrt" => Decay::InverseSqrt,
            _ => Decay::Constant,
        })
    }

    pub(crate) fn checkpoints(&self) -> CheckpointPolicy {
        CheckpointPolicy { keep: self.keep_checkpoints.0, early_stopping: self.early_stopping }
    }

    /// On `replicas` beside the first device.
    pub(crate) fn compute(&self, replicas: &[Device]) -> Compute {
        let replicas = replicas.to_vec();
        Compute { replicas, precision: self.precision, check_numerics: self.check_numerics }
    }
}

/// The name of a schedule.
#[derive(Clone, Copy, Debug)]
struct DecayKind(&'static str);

impl DecayKind {
    fn parse(text: &str) -> Result<Self, String> {
        const NAMES: [&str; 6] =
            ["constant", "linear", "cosine", "exponential", "step", "inverse-sqrt"];
        let found = NAMES.into_iter().find(|name| *name == text).map(Self);
        found.ok_or_else(|| format!("known are {}", NAMES.join(", ")))
    }
}

/// How many checkpoints are kept.
#[derive(Clone, Copy, Debug)]
struct Keep(Option<u64>);

impl Keep {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self(None));
        }
        at_least_1(text).map(|count| Self(Some(count))).map_err(|error| format!("{error}, or all"))
    }
}

fn precision(text: &str) -> Result<Precision, String> {
    serde_json::from_value(text.into()).map_err(|_| "it must be f32, bf16 or f16".to_owned())
}
