//! A trained model in its run directory, as later stages find it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Checkpoints, Digest, Manifest, RunDir, RunError, TrainingError, digest_bytes, digest_file,
    run_dir::{BEST, CHECKPOINT},
    training::read_state,
};

/// The file of a checkpoint with a model's weights.
pub const WEIGHTS: &str = "model.safetensors";

/// Writes `config.json` into the directory of a checkpoint: what its weights are of, for those who
/// read them without the run's manifest.
///
/// # Errors
/// When it cannot be written.
pub fn write_config(checkpoint: &Path, config: &serde_json::Value) -> std::io::Result<()> {
    std::fs::write(checkpoint.join("config.json"), serde_json::to_vec_pretty(config)?)
}

/// Which trained model it is: what later stages remember of the models they worked with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelIdentity {
    /// Its registered name.
    pub name: String,
    /// The digest of its weights, name and settings.
    pub digest: Digest,
}

impl fmt::Display for ModelIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = self.digest.to_string();
        write!(f, "{} ({})", self.name, &digest[..digest.len().min(12)])
    }
}

/// Which checkpoint of a run a stage works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The one with the lowest validation loss.
    Best,
    /// The last one of a finished training.
    Last,
    /// The one of this number.
    Number(u64),
}

impl Choice {
    /// The number of the checkpoint in the run directory `path` of the stage called `stage`.
    ///
    /// # Errors
    /// When there is no such run, it has no checkpoints, or none was validated; for the last one,
    /// when the training is not finished.
    pub fn number(self, path: &Path, stage: &str) -> Result<u64, RunError> {
        let checkpoints = Checkpoints::new(&path.join("checkpoints"));
        let latest = || checkpoints.latest().map_err(RunError::io(path));
        let missing = || RunError::NoCheckpoint { path: path.to_owned(), number: None };
        match self {
            Self::Number(number) => Ok(number),
            Self::Last => {
                RunDir::read(path, stage)?;
                latest()?.map(|(number, _)| number).ok_or_else(missing)
            }
            Self::Best => {
                let manifest = RunDir::peek(path, stage)?;
                if let Some(best) = manifest.results.get(BEST).and_then(|best| best.as_u64()) {
                    return Ok(best);
                }
                let (_, newest) = latest()?.ok_or_else(missing)?;
                let state = read_state(&newest).map_err(|error| RunError::Damaged {
                    path: newest.clone(),
                    reason: error.to_string(),
                })?;
                let best = state.judgement.best.map(|best| best.checkpoint);
                best.ok_or_else(|| RunError::NotValidated { path: path.to_owned() })
            }
        }
    }
}

/// One checkpoint of a training.
#[derive(Clone, Debug)]
pub struct TrainedRun {
    path: PathBuf,
    manifest: Manifest,
    number: Option<u64>,
    checkpoint: PathBuf,
}

impl TrainedRun {
    /// Finds the checkpoint of that number, or the one that a finished run says later stages take,
    /// in the run directory `path` of the stage called `stage`.
    ///
    /// # Errors
    /// When there is no such run or checkpoint, or the training is not finished (and no checkpoint
    /// was named).
    pub fn open(path: &Path, stage: &str, number: Option<u64>) -> Result<Self, RunError> {
        let manifest = match number {
            // A checkpoint that is asked for by its number need not wait for the run's end.
            Some(_) => RunDir::peek(path, stage)?,
            None => RunDir::read(path, stage)?,
        };
        let number = number.or_else(|| manifest.results.get(CHECKPOINT)?.as_u64());
        let checkpoint =
            number.map(|number| Checkpoints::new(&path.join("checkpoints")).path(number));
        let path = path.to_owned();
        match checkpoint.filter(|checkpoint| checkpoint.is_dir()) {
            // One that an interruption left will be replaced.
            Some(checkpoint) if read_state(&checkpoint).is_ok_and(|state| state.interim) => {
                Err(RunError::Interim { path: checkpoint })
            }
            Some(checkpoint) => {
                Checkpoints::check(&checkpoint, false)?;
                Ok(Self { path, manifest, number, checkpoint })
            }
            None => Err(RunError::NoCheckpoint { path, number }),
        }
    }

    /// The number of the newest checkpoint in the run directory `path` of the stage called `stage` that
    /// is the model `identity`, if one is.
    ///
    /// # Errors
    /// When there is no such run, or none is that model and one of them cannot be read.
    pub fn find(
        path: &Path,
        stage: &str,
        identity: &ModelIdentity,
    ) -> Result<Option<u64>, RunError> {
        RunDir::peek(path, stage)?;
        let checkpoints = Checkpoints::new(&path.join("checkpoints"));
        let latest = checkpoints.latest().map_err(RunError::io(path))?;
        let mut failure = None;
        for number in (1..=latest.map_or(0, |(number, _)| number)).rev() {
            if checkpoints.path(number).is_dir() {
                match Self::open(path, stage, Some(number)).and_then(|run| run.identity()) {
                    Ok(found) if found == *identity => return Ok(Some(number)),
                    Ok(_) => {}
                    // An older one may still be the one.
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
        }
        failure.map_or(Ok(None), Err)
    }

    /// Finds the newest checkpoint in the run directory `path` of the stage called `stage`, finished
    /// or not, the one that an interruption left included; none where nothing is saved yet.
    ///
    /// # Errors
    /// When there is no such run, or the checkpoint is damaged.
    pub fn newest(path: &Path, stage: &str) -> Result<Option<Self>, RunError> {
        let manifest = RunDir::peek(path, stage)?;
        let checkpoints = Checkpoints::new(&path.join("checkpoints"));
        let latest = checkpoints.latest().map_err(RunError::io(path))?;
        let Some((number, checkpoint)) = latest else { return Ok(None) };
        Checkpoints::check(&checkpoint, false)?;
        Ok(Some(Self { path: path.to_owned(), manifest, number: Some(number), checkpoint }))
    }

    /// How many steps of training there were before the checkpoint.
    ///
    /// # Errors
    /// When the checkpoint does not say.
    pub fn steps(&self) -> Result<u64, RunError> {
        let damaged = |error: TrainingError| RunError::Damaged {
            path: self.checkpoint.clone(),
            reason: error.to_string(),
        };
        Ok(read_state(&self.checkpoint).map_err(damaged)?.step)
    }

    /// The run directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What made the run.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The checkpoint's directory.
    pub fn checkpoint(&self) -> &Path {
        &self.checkpoint
    }

    /// The config in the manifest.
    ///
    /// # Errors
    /// When it is not one of the type `T`.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, RunError> {
        self.manifest.config_of(&self.path)
    }

    /// Keeps the checkpoint from being removed by a training that goes on, now or when it is
    /// extended: somebody works with it. Where one may only read, that is for the run's owner to see
    /// to.
    ///
    /// # Errors
    /// When it has been removed since it was found, or changed.
    pub fn keep(&self) -> Result<(), RunError> {
        let kept = Checkpoints::keep(&self.checkpoint);
        if kept.is_err() && !self.checkpoint.is_dir() {
            return Err(RunError::NoCheckpoint { path: self.path.clone(), number: self.number });
        }
        Checkpoints::check(&self.checkpoint, false)
    }

    /// Which model it is. The same weights in another place are the same model; models without
    /// weights differ in their settings alone.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn identity(&self) -> Result<ModelIdentity, RunError> {
        let weights = self.checkpoint.join(WEIGHTS);
        let weights = digest_file(&weights).map_err(RunError::io(&weights))?;
        let name = self.manifest.name.clone();
        let settings = &self.manifest.config["model_config"];
        let digest = digest_bytes(format!("{weights} {name} {settings}").as_bytes());
        Ok(ModelIdentity { name, digest })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io};

    use super::*;

    /// A run in `path` with checkpoints 1 and 2; it is not complete yet.
    fn run(path: &Path) -> RunDir {
        let config = serde_json::json!({ "model_config": { "width": 3 } });
        let run = RunDir::begin(path, Manifest::begin("train", "m", 1, config, vec![]), false);
        let run = run.unwrap();
        for number in [1, 2] {
            let weights = |checkpoint: &Path| fs::write(checkpoint.join(WEIGHTS), [number as u8]);
            run.checkpoints().save::<io::Error>(number, weights).unwrap();
        }
        run
    }

    #[test]
    fn the_newest_checkpoint_is_that_of_a_finished_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let mut run = run(path);
        let opened = TrainedRun::open(path, "train", None);
        assert!(matches!(opened, Err(RunError::Incomplete { .. })));
        let first = TrainedRun::open(path, "train", Some(1)).unwrap();
        assert_eq!(first.checkpoint(), run.checkpoints().path(1));

        run.complete(serde_json::Map::new()).unwrap();
        let newest = TrainedRun::open(path, "train", None).unwrap();
        assert_eq!(newest.checkpoint(), run.checkpoints().path(2));
        assert_ne!(newest.identity().unwrap(), first.identity().unwrap());
        // Without it, an older one does not take its place.
        std::fs::remove_dir_all(newest.checkpoint()).unwrap();
        let opened = TrainedRun::open(path, "train", None);
        assert!(matches!(opened, Err(RunError::NoCheckpoint { number: Some(2), .. })));
        assert_eq!(
            TrainedRun::open(path, "train", Some(3)).unwrap_err().to_string(),
            format!("{} has no checkpoint model-003", path.display())
        );
        assert!(matches!(
            TrainedRun::open(path, "encode", Some(1)),
            Err(RunError::WrongStage { .. })
        ));
    }

    #[test]
    fn a_model_is_its_weights_wherever_they_are() {
        let identity = || {
            let directory = tempfile::tempdir().unwrap();
            let _run = run(directory.path());
            TrainedRun::open(directory.path(), "train", Some(2)).unwrap().identity().unwrap()
        };
        assert_eq!(identity(), identity());
    }
}
