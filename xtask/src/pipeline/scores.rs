//! `scores.json` of an evaluation, and how far apart two evaluations are.

use std::{fs, path::Path};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

/// The parts of `scores.json` that the summary shows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct File {
    environment: String,
    #[serde(default)]
    rules: Option<String>,
    scores: Vec<f64>,
}

/// The scores of one evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Scores {
    /// The environment's versioned id.
    pub(crate) environment: String,
    /// When an episode ends and what is rewarded.
    pub(crate) rules: Option<String>,
    pub(crate) episodes: usize,
    pub(crate) mean: f64,
    /// Of single scores, with n - 1.
    pub(crate) standard_deviation: f64,
    /// Of the mean.
    pub(crate) standard_error: f64,
}

impl Scores {
    /// Reads `scores.json` in `directory`.
    pub(crate) fn read(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join("scores.json");
        let read = || {
            let file: File = serde_json::from_slice(&fs::read(&path)?)?;
            ensure!(!file.scores.is_empty(), "it has no scores");
            anyhow::Ok(Self::of(file))
        };
        read().with_context(|| format!("cannot use {}", path.display()))
    }

    fn of(file: File) -> Self {
        let n = file.scores.len() as f64;
        let mean = file.scores.iter().sum::<f64>() / n;
        let squares: f64 = file.scores.iter().map(|score| (score - mean).powi(2)).sum();
        let standard_deviation = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        Self {
            environment: file.environment,
            rules: file.rules,
            episodes: file.scores.len(),
            mean,
            standard_deviation,
            standard_error: standard_deviation / n.sqrt(),
        }
    }

    /// How many standard errors of the difference `self` is above `other`; `None` where neither
    /// varies.
    pub(crate) fn standard_errors_above(&self, other: &Self) -> Option<f64> {
        let error = self.standard_error.hypot(other.standard_error);
        (error > 0.0).then(|| (self.mean - other.mean) / error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(scores: &[f64]) -> Scores {
        Scores::of(File {
            environment: "CarRacing-v3".into(),
            rules: None,
            scores: scores.to_vec(),
        })
    }

    #[test]
    fn means_and_errors_are_as_in_textbooks() {
        let two = scores(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(two.mean, 5.0);
        assert!((two.standard_deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert!((two.standard_error - (4.0f64 / 7.0).sqrt()).abs() < 1e-12);
        let apart = two.standard_errors_above(&scores(&[1.0, 1.0])).unwrap();
        assert!((apart - 4.0 / (4.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(scores(&[1.0]).standard_errors_above(&scores(&[0.0])), None);
    }

    #[test]
    fn a_file_without_scores_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scores.json");
        fs::write(&path, r#"{"environment": "a", "scores": [], "more": 1}"#).unwrap();
        let error = format!("{:#}", Scores::read(directory.path()).unwrap_err());
        assert!(error.contains("scores.json") && error.contains("no scores"), "{error}");
        fs::write(&path, r#"{"environment": "a", "scores": [1.5], "more": 1}"#).unwrap();
        assert_eq!(Scores::read(directory.path()).unwrap().mean, 1.5);
    }
}
