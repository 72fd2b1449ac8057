//! An evaluation's run directory.

use std::path::Path;

use rl755_run::{Input, Manifest, RunDir};

use crate::{ControllerError, EvaluateConfig, Scores};

/// The name of the stage in manifests.
const STAGE: &str = "evaluate";

/// An evaluation in progress: `manifest.json` says what is evaluated and how, and, once there is
/// `scores.json` beside it, that it is complete.
pub struct Evaluation(RunDir);

impl Evaluation {
    /// Begins in `directory`, where an earlier evaluation is replaced.
    ///
    /// # Errors
    /// When the directory holds a run of another stage, is busy, or cannot be written.
    pub fn begin(
        directory: &Path,
        subject: &str,
        environment: &str,
        config: &EvaluateConfig,
        inputs: Vec<Input>,
    ) -> Result<Self, ControllerError> {
        let EvaluateConfig { episodes, horizon, seed } = *config;
        let settings = serde_json::json!({
            "environment": environment, "episodes": episodes, "horizon": horizon,
        });
        let manifest = Manifest::begin(STAGE, subject, seed, settings, inputs);
        Ok(Self(RunDir::begin_anew(directory, manifest)?))
    }

    /// Writes the scores.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn finish(mut self, scores: &Scores) -> Result<(), ControllerError> {
        scores.write(self.0.path())?;
        let results =
            [("mean", scores.mean), ("std", scores.std), ("standard_error", scores.standard_error)];
        Ok(self.0.complete(
            results.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect(),
        )?)
    }
}
