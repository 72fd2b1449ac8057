//! An evaluation's run directory.

use std::{fs, io, path::Path, time::Instant};

use rl755_run::{Input, Manifest, RunDir};

use crate::{ControllerError, EvaluateConfig, Scores, scores::SCORES};

/// The name of the stage in manifests.
const STAGE: &str = "evaluate";

/// An evaluation in progress: `manifest.json` says what is evaluated and how, and whether it is
/// complete; then `scores.json` lies beside it.
pub struct Evaluation {
    run: RunDir,
    began: Instant,
}

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
        let run = RunDir::begin_anew(directory, manifest)?;
        // Scores of something else must not lie beside this manifest.
        let old = directory.join(SCORES);
        match fs::remove_file(&old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ControllerError::io(&old)(error));
            }
            _ => {}
        }
        Ok(Self { run, began: Instant::now() })
    }

    /// Writes the scores.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn finish(mut self, scores: &Scores) -> Result<(), ControllerError> {
        scores.write(self.run.path())?;
        self.run.add_seconds(self.began.elapsed().as_secs_f64())?;
        let results =
            [("mean", scores.mean), ("std", scores.std), ("standard_error", scores.standard_error)];
        let results = results.map(|(name, value)| (name.to_owned(), value.into()));
        Ok(self.run.complete(results.into_iter().collect())?)
    }
}
