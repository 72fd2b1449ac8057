//! A run directory: one training or evaluation, with everything a later stage needs.
//!
//! ```text
//! RUN/manifest.json        what made it, whether it is complete
//! RUN/metrics.jsonl        one line per logged step
//! RUN/events.out.tfevents… the same for TensorBoard
//! RUN/checkpoints/model-001/…
//! ```

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    AtomicFile, CheckpointPolicy, Checkpoints, Manifest, RunLock, Status, checkpoint_policy::Best,
    manifest::MANIFEST_FORMAT, training::read_state, write_atomically,
};

/// The name among a finished run's results of the number of the checkpoint that later stages take.
pub(crate) const CHECKPOINT: &str = "checkpoint";

/// The name of the number of the best checkpoint, where checkpoints were validated.
pub(crate) const BEST: &str = "best_checkpoint";

/// A run directory could not be opened or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is nothing at the path, or no manifest in it.
    #[error("{} is no run directory: it has no manifest.json", path.display())]
    NotARun {
        /// The path that was given.
        path: PathBuf,
    },
    /// The directory holds a run of another stage.
    #[error("{} was made by the stage {found}, not by {expected}", path.display())]
    WrongStage {
        /// The run directory.
        path: PathBuf,
        /// The stage in its manifest.
        found: String,
        /// The stage that was looked for.
        expected: String,
    },
    /// The directory holds a run, and `--resume` was not given.
    #[error(
        "{} already holds a run; give --resume to go on with it, or another directory",
        path.display()
    )]
    Exists {
        /// The run directory.
        path: PathBuf,
    },
    /// The directory holds a run of other work.
    #[error("{} holds a run with another {differs}; it can only be resumed unchanged", path.display())]
    Changed {
        /// The run directory.
        path: PathBuf,
        /// What differs: `seed`, `config (batch_size 64, was 32)`, `input PATH`.
        differs: String,
    },
    /// Another process is at work in the directory.
    #[error("another process is at work in {}", path.display())]
    Busy {
        /// The run directory.
        path: PathBuf,
    },
    /// The run was not finished.
    #[error("the run in {} is not complete; resume it first", path.display())]
    Incomplete {
        /// The run directory.
        path: PathBuf,
    },
    /// The checkpoint was saved when the run was interrupted, and will be replaced.
    #[error("{} was saved when the run was interrupted; resume it first", path.display())]
    Interim {
        /// The checkpoint.
        path: PathBuf,
    },
    /// The run has no such checkpoint.
    #[error("{} has no checkpoint{}", path.display(),
        number.map(|n| format!(" model-{n:03}")).unwrap_or_default())]
    NoCheckpoint {
        /// The run directory.
        path: PathBuf,
        /// The checkpoint's number; `None` where there is none at all.
        number: Option<u64>,
    },
    /// No checkpoint of the run has a validation loss.
    #[error("{} has no best checkpoint: none was validated", path.display())]
    NotValidated {
        /// The run directory.
        path: PathBuf,
    },
    /// A file of the run cannot be understood.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl RunError {
    /// Names the path that an input or output error happened at.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

/// A run directory that this process works in; locked until dropped.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    manifest: Manifest,
    best: Option<Best>,
    /// Whether later stages take the best checkpoint, not the last.
    take_best: bool,
    _lock: RunLock,
}

impl RunDir {
    /// Begins the run that `manifest` describes in `path`, or goes on with it.
    ///
    /// A directory that holds a run is only touched when `resume` is set and the run is of the
    /// same work, or of the same with fewer steps ([`Manifest::extendable`]), or when that run ended
    /// before its first checkpoint.
    ///
    /// # Errors
    /// When the directory holds another run, is busy, or cannot be written.
    pub fn begin(path: &Path, manifest: Manifest, resume: bool) -> Result<Self, RunError> {
        let lock = lock(path)?;
        if !path.join("manifest.json").exists() {
            return Self::start(path, manifest, lock);
        }
        let checkpoints = Checkpoints::new(&path.join("checkpoints"));
        checkpoints.recover().map_err(RunError::io(path))?;
        let found = read_manifest(path)?;
        let saved = checkpoints.latest().map_err(RunError::io(path))?;
        if found.stage == manifest.stage && found.status == Status::Running && saved.is_none() {
            // It ended before it had saved anything: nothing is lost, and nothing binds.
            return Self::start(path, manifest, lock);
        }
        if !resume {
            return Err(RunError::Exists { path: path.to_owned() });
        }
        AtomicFile::clear_temporaries(path, |_| true).map_err(RunError::io(path))?;
        if found.same_work(&manifest) {
            return Ok(Self::new(path, found, lock));
        }
        let refused = |why: &str| {
            let differs = difference(&found, &manifest, why);
            Err(RunError::Changed { path: path.to_owned(), differs })
        };
        if !manifest.extends(&found) {
            return refused("");
        }
        if !manifest.extendable {
            return refused(": the first steps would be others");
        }
        if !saved.is_some_and(|(_, newest)| will_stay(&newest, &found)) {
            return refused(": its last checkpoint would be replaced by one of another step");
        }
        // What later stages worked with stays.
        for result in [CHECKPOINT, BEST] {
            if let Some(number) = found.results.get(result).and_then(Value::as_u64)
                && checkpoints.path(number).is_dir()
            {
                Checkpoints::keep(&checkpoints.path(number)).map_err(RunError::io(path))?;
            }
        }
        let seconds = found.seconds;
        let run = Self::new(path, Manifest { seconds, ..manifest }, lock);
        run.write_manifest()?;
        Ok(run)
    }

    fn new(path: &Path, manifest: Manifest, lock: RunLock) -> Self {
        Self { path: path.to_owned(), manifest, best: None, take_best: false, _lock: lock }
    }

    /// Begins the run that `manifest` describes in `path`, whose results replace those of an
    /// earlier run of the same stage.
    ///
    /// # Errors
    /// When the directory holds a run of another stage, is busy, or cannot be written.
    pub fn begin_anew(path: &Path, manifest: Manifest) -> Result<Self, RunError> {
        match Self::peek(path, &manifest.stage) {
            Ok(_) | Err(RunError::NotARun { .. }) => {}
            Err(error) => return Err(error),
        }
        let lock = lock(path)?;
        Self::start(path, manifest, lock)
    }

    fn start(path: &Path, manifest: Manifest, lock: RunLock) -> Result<Self, RunError> {
        AtomicFile::clear_temporaries(path, |_| true).map_err(RunError::io(path))?;
        let run = Self::new(path, manifest, lock);
        run.write_manifest()?;
        Ok(run)
    }

    /// Reads the manifest of a finished run of `stage`, without locking it.
    ///
    /// # Errors
    /// When `path` holds no run, one of another stage, or an unfinished one.
    pub fn read(path: &Path, stage: &str) -> Result<Manifest, RunError> {
        let manifest = Self::peek(path, stage)?;
        if manifest.status != Status::Complete {
            return Err(RunError::Incomplete { path: path.to_owned() });
        }
        Ok(manifest)
    }

    /// Reads the manifest of a run of `stage`, finished or not, without locking it.
    ///
    /// # Errors
    /// When `path` holds no run, or one of another stage.
    pub fn peek(path: &Path, stage: &str) -> Result<Manifest, RunError> {
        let manifest = read_manifest(path)?;
        if manifest.stage != stage {
            return Err(RunError::WrongStage {
                path: path.to_owned(),
                found: manifest.stage,
                expected: stage.to_owned(),
            });
        }
        Ok(manifest)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What made the run.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Whether an earlier process finished this run.
    pub fn is_complete(&self) -> bool {
        self.manifest.status == Status::Complete
    }

    /// The run's checkpoints.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::new(&self.path.join("checkpoints"))
    }

    /// Adds `seconds` of work to the manifest.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add_seconds(&mut self, seconds: f64) -> Result<(), RunError> {
        self.manifest.seconds += seconds;
        self.write_manifest()
    }

    /// Remembers which checkpoint of a training is the best, for [`complete`](Self::complete).
    pub(crate) fn judge(&mut self, best: Option<Best>, policy: CheckpointPolicy) {
        self.best = best;
        self.take_best = policy.early_stopping.is_some();
    }

    /// Records what came out, and marks the run as complete. Adds `checkpoint`, the number of the
    /// checkpoint that later stages take (the last; where the training may stop early, whether or not
    /// it did, the best), and, where checkpoints were validated, `best_checkpoint` and
    /// `best_validation_loss`. The other results are those of the last checkpoint.
    ///
    /// # Errors
    /// When the manifest cannot be written.
    pub fn complete(
        &mut self,
        results: serde_json::Map<String, serde_json::Value>,
    ) -> Result<(), RunError> {
        self.manifest.results = results;
        let last = self.checkpoints().latest().map_err(RunError::io(&self.path))?;
        let mut taken = last.map(|(number, _)| number);
        if let Some(best) = self.best {
            self.manifest.results.insert(BEST.to_owned(), best.checkpoint.into());
            self.manifest.results.insert("best_validation_loss".to_owned(), best.loss.into());
            taken = if self.take_best { Some(best.checkpoint) } else { taken };
        }
        if let Some(number) = taken {
            self.manifest.results.insert(CHECKPOINT.to_owned(), number.into());
        }
        self.manifest.status = Status::Complete;
        self.write_manifest()
    }

    fn write_manifest(&self) -> Result<(), RunError> {
        let path = self.path.join("manifest.json");
        let text = serde_json::to_vec_pretty(&self.manifest)
            .map_err(|e| RunError::Damaged { path: path.clone(), reason: e.to_string() })?;
        write_atomically(&path, &text).map_err(RunError::io(&path))
    }
}

/// Whether the newest checkpoint of the run `found` keeps its number when the training goes on, or is
/// one that an interruption left, which nobody else takes.
fn will_stay(newest: &Path, found: &Manifest) -> bool {
    let every = found.config["training"]["save_every_n_steps"].as_u64().unwrap_or_default();
    read_state(newest).is_ok_and(|state| state.interim || state.step.is_multiple_of(every))
}

fn lock(path: &Path) -> Result<RunLock, RunError> {
    fs::create_dir_all(path).map_err(RunError::io(path))?;
    RunLock::try_take(&path.join(".lock"))
        .map_err(RunError::io(path))?
        .ok_or_else(|| RunError::Busy { path: path.to_owned() })
}

fn read_manifest(path: &Path) -> Result<Manifest, RunError> {
    let file = path.join("manifest.json");
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(RunError::NotARun { path: path.to_owned() });
        }
        Err(source) => return Err(RunError::Io { path: file, source }),
    };
    let damaged = |reason| RunError::Damaged { path: file.clone(), reason };
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    if manifest.format != MANIFEST_FORMAT {
        let format = manifest.format;
        return Err(damaged(format!("format {format}; this program reads {MANIFEST_FORMAT}")));
    }
    Ok(manifest)
}

/// What keeps `new` from going on with `old`, in words, and why where that is not plain.
fn difference(old: &Manifest, new: &Manifest, why: &str) -> String {
    if old.stage != new.stage {
        return format!("stage ({}, was {})", new.stage, old.stage);
    }
    if old.name != new.name {
        return format!("model ({}, was {})", new.name, old.name);
    }
    if old.seed != new.seed {
        return format!("seed ({}, was {})", new.seed, old.seed);
    }
    if let Some(differs) = difference_of_values("", &old.config, &new.config) {
        return format!("config ({differs}{why})");
    }
    for (was, is) in old.inputs.iter().zip(&new.inputs) {
        if was.digest != is.digest {
            return format!("input ({} changed)", is.path.display());
        }
    }
    "number of inputs or fields of its config".to_owned()
}

/// The first place at which two JSON values differ, as deep as it goes: `population 18, was 16`. An
/// id comes before what follows from it: another environment has other spaces.
fn difference_of_values(name: &str, old: &Value, new: &Value) -> Option<String> {
    if let (Value::Object(old), Value::Object(new)) = (old, new) {
        let value = |object: &serde_json::Map<String, Value>, key: &str| {
            object.get(key).cloned().unwrap_or_default()
        };
        let id = "id".to_owned();
        return [&id]
            .into_iter()
            .chain(old.keys())
            .chain(new.keys())
            .find_map(|key| difference_of_values(key, &value(old, key), &value(new, key)));
    }
    (old != new).then(|| format!("{name} {new}, was {old}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(batch_size: u32) -> Manifest {
        let config = serde_json::json!({ "name": "m", "training": { "batch_size": batch_size } });
        Manifest::begin("train", "m", 1, config, vec![])
    }

    #[test]
    fn a_run_goes_on_only_when_asked_and_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run");
        drop(RunDir::begin(&path, manifest(2), false).unwrap());
        // Nothing of that was saved.
        let run = RunDir::begin(&path, manifest(1), false).unwrap();
        run.checkpoints().save::<io::Error>(1, |_| Ok(())).unwrap();
        drop(run);
        assert!(matches!(RunDir::begin(&path, manifest(1), false), Err(RunError::Exists { .. })));
        let changed = RunDir::begin(&path, manifest(2), true).unwrap_err().to_string();
        assert!(changed.contains("config (batch_size 2, was 1);"), "{changed}");
        RunDir::begin(&path, manifest(1), true).unwrap();
    }

    #[test]
    fn another_environment_is_named_rather_than_its_spaces() {
        let environment =
            |id: &str, n: u32| serde_json::json!({ "action_space": { "n": n }, "id": id });
        let differs = |id: &str, n| {
            let (was, is) = (environment("A-v1", 2), environment(id, n));
            difference_of_values("environment", &was, &is)
        };
        assert_eq!(differs("B-v1", 3).unwrap(), r#"id "B-v1", was "A-v1""#);
        assert_eq!(differs("A-v1", 3).unwrap(), "n 3, was 2");
        assert_eq!(differs("A-v1", 2), None);
    }

    #[test]
    fn a_run_that_begins_anew_replaces_only_one_of_its_stage() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let mut run = RunDir::begin_anew(path, manifest(1)).unwrap();
        run.complete(serde_json::Map::new()).unwrap();
        drop(run);
        drop(RunDir::begin_anew(path, manifest(2)).unwrap());
        assert!(matches!(RunDir::read(path, "train"), Err(RunError::Incomplete { .. })));
        let other = Manifest { stage: "evaluate".to_owned(), ..manifest(1) };
        let error = RunDir::begin_anew(path, other);
        assert!(matches!(error, Err(RunError::WrongStage { .. })));
    }

    #[test]
    fn two_processes_do_not_share_a_run() {
        let directory = tempfile::tempdir().unwrap();
        let _first = RunDir::begin(directory.path(), manifest(1), false).unwrap();
        let second = RunDir::begin(directory.path(), manifest(1), true);
        assert!(matches!(second, Err(RunError::Busy { .. })));
    }

    #[test]
    fn only_finished_runs_of_the_stage_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert!(matches!(RunDir::read(path, "train"), Err(RunError::NotARun { .. })));
        let mut run = RunDir::begin(path, manifest(1), false).unwrap();
        assert!(matches!(RunDir::read(path, "train"), Err(RunError::Incomplete { .. })));
        run.complete(serde_json::Map::new()).unwrap();
        assert!(matches!(RunDir::read(path, "encode"), Err(RunError::WrongStage { .. })));
        assert!(RunDir::read(path, "train").is_ok());
    }
}
