//! Episodes: when they are over, what comes of them, and which tracks they are played on.

use rl755_run::derive_seed;
use serde::{Deserialize, Serialize};

/// When an episode is broken off, besides when the environment ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpisodeLimits {
    /// After this many steps.
    pub horizon: Option<u32>,
    /// After this many steps in a row without a positive reward.
    pub patience_steps: Option<u32>,
}

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeEnd {
    /// In a terminal state of the task.
    Terminated,
    /// By the environment's time limit.
    Truncated,
    /// By [`EpisodeLimits::horizon`].
    Horizon,
    /// By [`EpisodeLimits::patience_steps`].
    OutOfPatience,
}

/// What came of an episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Episode {
    /// What the environment was reset with.
    pub seed: u64,
    /// The sum of the rewards.
    pub score: f64,
    /// Steps taken.
    pub steps: u32,
    /// How it ended.
    pub end: EpisodeEnd,
}

/// Tracks for different ends. No seed is in two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackSet {
    /// What members of generations play on.
    Training,
    /// What the mean is evaluated on during training.
    Validation,
    /// What finished controllers are evaluated on.
    Test,
}

impl TrackSet {
    /// The environment seed of track `index` in this set: 32 bits, as Gymnasium's environments
    /// take, of which the upper two are the set's own.
    pub fn seed(self, seed: u64, index: u64) -> u64 {
        let (label, prefix) = match self {
            Self::Training => ("track", 0b00),
            Self::Validation => ("validation track", 0b10),
            Self::Test => ("test track", 0b11),
        };
        prefix << 30 | derive_seed(seed, label, index) & ((1 << 30) - 1)
    }
}
