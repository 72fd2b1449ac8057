//! What an evaluation found.

use std::{fmt, fs, path::Path};

use rl755_env::EnvSpec;
use rl755_run::write_atomically;
use serde::{Deserialize, Serialize};

use crate::{ControllerError, Episode, train::mean_and_std};

/// The file with the scores.
pub(crate) const SCORES: &str = "scores.json";

/// What an evaluation found: `scores.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scores {
    /// The program and its version.
    pub made_by: String,
    /// What acted: `controller linear`, `policy uniform`.
    pub subject: String,
    /// The environment's versioned id.
    pub environment: String,
    /// When an episode ends and what is rewarded.
    pub rules: String,
    /// The mean score.
    pub mean: f64,
    /// The standard deviation of single scores, with n - 1.
    pub std: f64,
    /// The standard error of the mean.
    pub standard_error: f64,
    /// The score of each episode.
    pub scores: Vec<f64>,
    /// The episodes themselves.
    pub episodes: Vec<Episode>,
}

impl Scores {
    pub(crate) fn new(subject: String, spec: &EnvSpec, episodes: Vec<Episode>) -> Self {
        let scores: Vec<f64> = episodes.iter().map(|episode| episode.score).collect();
        let (mean, std) = mean_and_std(&scores);
        Self {
            made_by: format!("rl755 {}", env!("CARGO_PKG_VERSION")),
            subject,
            environment: spec.id.clone(),
            rules: spec.rules.clone(),
            mean,
            std,
            standard_error: std / (scores.len() as f64).sqrt(),
            scores,
            episodes,
        }
    }

    /// Writes `scores.json` into `directory`.
    ///
    /// # Errors
    /// When the directory cannot be made or written.
    pub fn write(&self, directory: &Path) -> Result<(), ControllerError> {
        fs::create_dir_all(directory).map_err(ControllerError::io(directory))?;
        let path = directory.join(SCORES);
        let text =
            serde_json::to_vec_pretty(self).map_err(|e| ControllerError::io(&path)(e.into()))?;
        write_atomically(&path, &text).map_err(ControllerError::io(&path))
    }
}

impl fmt::Display for Scores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} in {} ({})", self.subject, self.environment, self.rules)?;
        writeln!(
            f,
            "{:.1} ± {:.1} (mean and standard error of {} episodes; standard deviation {:.1})",
            self.mean,
            self.standard_error,
            self.scores.len(),
            self.std
        )?;
        let scores: Vec<String> = self.scores.iter().map(|score| format!("{score:.1}")).collect();
        write!(f, "scores: {}", scores.join(" "))
    }
}
