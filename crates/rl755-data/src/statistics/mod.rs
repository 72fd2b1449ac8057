//! What a dataset holds, in numbers and pictures.

mod contact_sheet;
mod histogram;
mod summary;
mod tally;
mod text;

use std::{collections::BTreeMap, path::PathBuf};

use rl755_env::EnvSpec;
use serde::Serialize;

pub(crate) use self::tally::Tally;
pub use self::{
    contact_sheet::{ContactSheet, ContactSheetError},
    histogram::ActionHistogram,
    summary::Summary,
};

/// What the sound rollouts of one environment and kind hold, as [`verify`](crate::verify) finds it.
///
/// It does not depend on the number of threads. `Display` gives it as text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// The environment.
    pub environment: EnvSpec,
    /// How observations are stored: `png`, `tensor`, `float` or `latent`.
    pub observation_format: String,
    /// How many rollouts there are.
    pub rollouts: u64,
    /// How many steps they have together, which is how many frames, vectors or latents there are.
    pub steps: u64,
    /// Bytes of their records, framing included.
    pub bytes: u64,
    /// The sums of the rollouts' rewards.
    pub returns: Summary,
    /// The rollouts' steps.
    pub lengths: Summary,
    /// Rollouts after whose last action the task was over.
    pub terminated: u64,
    /// Rollouts that were cut off after their last action. One can be both.
    pub truncated: u64,
    /// How many rollouts each policy acted in.
    pub policies: BTreeMap<String, u64>,
    /// One for each element of the actions.
    pub actions: Vec<ActionHistogram>,
    /// One for each latent; none for raw rollouts.
    pub latents: Vec<LatentStatistics>,
    /// Where some rollouts lie, evenly among all.
    #[serde(skip)]
    samples: Vec<RolloutPlace>,
}

/// How one latent is distributed over all steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatentStatistics {
    /// The mean of the posterior means.
    pub mean: f64,
    /// The standard deviation of the posterior means.
    pub std_dev: f64,
    /// The mean of the posterior standard deviations; 0 for a deterministic encoder.
    pub posterior_std_dev: f64,
    /// The mean Kullback-Leibler divergence of the posterior from the standard normal
    /// distribution, in nats; `None` for a deterministic encoder.
    pub divergence: Option<f64>,
}

impl LatentStatistics {
    /// The divergence below which a latent says nothing about the observation, in nats.
    pub const INACTIVE_BELOW: f64 = 0.01;

    /// Whether the latent says next to nothing, so that sampling from the posterior gives noise.
    pub fn is_inactive(&self) -> bool {
        self.divergence.is_some_and(|nats| nats < Self::INACTIVE_BELOW)
    }
}

/// Where a rollout lies.
#[derive(Clone, Debug, PartialEq)]
struct RolloutPlace {
    path: PathBuf,
    record: u64,
    offset: u64,
    /// The length of its record's data.
    length: u64,
}
