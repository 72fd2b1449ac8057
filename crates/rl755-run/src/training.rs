//! The loop around every training: progress, metrics, checkpoints, resumption, interruption.

use std::{fs, io, path::Path, time::Instant};

use serde::{Deserialize, Serialize};

use crate::{
    CheckpointPolicy, Checkpoints, Interrupt, Metrics, MetricsError, Progress, RunDir, RunError,
    SettingError,
    checkpoint_policy::{Best, Judgement},
    metric, write_atomically,
};

/// How long to train and how often to save and log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingConfig {
    /// Steps in all: batches, or generations of an evolution.
    pub train_steps: u64,
    /// A checkpoint every this many steps.
    pub save_every_n_steps: u64,
    /// Metrics, averaged over this many steps.
    pub log_every_n_steps: u64,
}

impl TrainingConfig {
    /// One step, for what has nothing to learn.
    pub fn single_step() -> Self {
        Self { train_steps: 1, save_every_n_steps: 1, log_every_n_steps: 1 }
    }

    /// Rejects numbers that nothing can be trained with.
    ///
    /// # Errors
    /// When one is 0.
    pub fn check(&self) -> Result<(), SettingError> {
        SettingError::check_not_zero([
            ("train_steps", self.train_steps),
            ("save_every_n_steps", self.save_every_n_steps),
            ("log_every_n_steps", self.log_every_n_steps),
        ])
    }
}

/// Training stopped for a reason that is not an interruption.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainingError {
    /// A number became infinite or NaN.
    #[error("{tensor} is not finite at step {step}; checkpoints of earlier steps are good")]
    NotFinite {
        /// The first tensor in which it was seen: `loss`, `the gradient of encoder.conv1.weight`.
        tensor: String,
        /// The step.
        step: u64,
    },
    /// A setting that cannot be trained with.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A checkpoint cannot be read or written.
    #[error("checkpoint {path}: {reason}")]
    Checkpoint {
        /// Its directory or file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The run directory.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The metrics.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// Files.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The trainee gave its step up because it saw the request to stop; nothing of it was done.
    #[error("interrupted")]
    Interrupted,
    /// What is being trained failed for a reason of its own.
    #[error(transparent)]
    Trainee(Box<dyn std::error::Error + Send + Sync>),
}

impl TrainingError {
    /// Wraps an error of the trainee.
    pub fn trainee(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Trainee(Box::new(error))
    }
}

/// How a training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps are done.
    Complete,
    /// Stopped early on request, at this step; a checkpoint of it is saved.
    Interrupted {
        /// Steps done.
        step: u64,
    },
}

/// Something that is trained step by step and can be saved between any two steps.
///
/// What step `n` does may depend only on the saved state and `n`, so that a resumed training
/// gives the same bits as one that was never interrupted.
pub trait Trainee {
    /// Does step `step` (from 1 on) and returns its metrics. Of steps that are logged together, each
    /// metric is averaged over those that have it.
    ///
    /// # Errors
    /// [`TrainingError::NotFinite`] when a number is not finite; [`TrainingError::Interrupted`]
    /// when a long step was given up; or an error of its own.
    fn step(&mut self, step: u64) -> Result<Vec<(String, f64)>, TrainingError>;

    /// Writes the whole state into `directory`.
    ///
    /// # Errors
    /// When it cannot be written.
    fn save(&self, directory: &Path) -> Result<(), TrainingError>;

    /// Takes the state from `directory`.
    ///
    /// # Errors
    /// When it is missing, damaged or of another architecture.
    fn load(&mut self, directory: &Path) -> Result<(), TrainingError>;

    /// Which checkpoints are kept, and when to stop early: the best checkpoint is the one whose
    /// metrics ([`checkpointed`](Self::checkpointed)) have the lowest `validation_loss`.
    fn policy(&self) -> CheckpointPolicy {
        CheckpointPolicy::default()
    }

    /// Called just before each checkpoint is saved, for validation losses and pictures. The metrics
    /// are logged.
    ///
    /// # Errors
    /// When validation fails.
    fn checkpointed(
        &mut self,
        _step: u64,
        _metrics: &mut Metrics,
    ) -> Result<Vec<(String, f64)>, TrainingError> {
        Ok(Vec::new())
    }
}

/// The file of a checkpoint with what the loop itself must remember.
const STATE: &str = "training.json";

/// What the loop itself must remember.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoopState {
    pub(crate) step: u64,
    /// Whether it was saved between two regular checkpoints, the next of which will replace it.
    pub(crate) interim: bool,
    /// Sums of the metrics since they were last logged, and of how many steps they are.
    sums: Vec<(String, f64, u64)>,
    pub(crate) judgement: Judgement,
}

/// Trains `trainee` in `run` from its newest checkpoint, if any, to `config.train_steps`.
///
/// Does not mark the run as complete: the caller adds its results with [`RunDir::complete`].
///
/// # Errors
/// See [`TrainingError`]. What was saved before stays.
pub fn train(
    run: &mut RunDir,
    config: &TrainingConfig,
    trainee: &mut dyn Trainee,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Outcome, TrainingError> {
    config.check()?;
    let policy = trainee.policy();
    policy.check()?;
    let started = Instant::now();
    let mut state = LoopState::default();
    let prune = |checkpoints: Checkpoints, best: Option<Best>| match policy.keep {
        Some(keep) => checkpoints.prune(keep, best.map(|best| best.checkpoint)),
        None => Ok(()),
    };
    if let Some((_, path)) = run.checkpoints().latest()? {
        Checkpoints::check(&path, true)?;
        state = read_state(&path)?;
        trainee.load(&path)?;
        if !state.interim {
            // A process that was killed may not have come to it.
            prune(run.checkpoints(), state.judgement.best)?;
        }
        progress.set(state.step, config.train_steps);
        progress.line(&format!("going on from {} at step {}", path.display(), state.step));
    }
    let mut metrics = Metrics::open(run.path(), state.step)?;
    let outcome = loop {
        progress.set(state.step, config.train_steps);
        let done = state.step >= config.train_steps || state.judgement.is_enough(policy);
        let interrupted = interrupt.is_raised() && !done;
        // An interruption right after a checkpoint has nothing more to save.
        let due = state.step.is_multiple_of(config.save_every_n_steps) || done;
        if interrupted {
            if !due && state.step > 0 {
                save(run, config, &state, trainee)?;
            }
            break Outcome::Interrupted { step: state.step };
        }
        if done {
            if let (true, Some(best)) = (state.judgement.is_enough(policy), state.judgement.best) {
                let (step, since) = (state.step, state.judgement.since);
                let number = best.checkpoint;
                progress.line(&format!(
                    "stopped early at step {step}: {since} checkpoints are no better than \
                     model-{number:03}"
                ));
            }
            run.judge(state.judgement.best, policy);
            break Outcome::Complete;
        }
        match advance(config, &mut state, trainee, &mut metrics, progress) {
            // The next turn saves what was done before.
            Err(TrainingError::Interrupted) => {
                interrupt.raise();
                continue;
            }
            advanced => advanced?,
        }
        if state.step.is_multiple_of(config.save_every_n_steps) || state.step == config.train_steps
        {
            // First the metrics: a process that is killed in between logs them again.
            let values = trainee.checkpointed(state.step, &mut metrics)?;
            check_finite(&values, state.step)?;
            if !values.is_empty() {
                metrics.log(state.step, &values)?;
            }
            state.judgement.judge(state.step.div_ceil(config.save_every_n_steps), &values);
            save(run, config, &state, trainee)?;
            prune(run.checkpoints(), state.judgement.best)?;
        }
    };
    run.add_seconds(started.elapsed().as_secs_f64())?;
    Ok(outcome)
}

/// One step, logged when its turn has come.
fn advance(
    config: &TrainingConfig,
    state: &mut LoopState,
    trainee: &mut dyn Trainee,
    metrics: &mut Metrics,
    progress: &dyn Progress,
) -> Result<(), TrainingError> {
    let step = state.step + 1;
    let values = trainee.step(step)?;
    check_finite(&values, step)?;
    let note: Vec<String> = values.iter().map(|(n, v)| format!("{n} {}", metric(*v))).collect();
    progress.note(&note.join("  "));
    for (name, value) in values {
        match state.sums.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, sum, count)) => (*sum, *count) = (*sum + value, *count + 1),
            None => state.sums.push((name, value, 1)),
        }
    }
    state.step = step;
    let due = step.is_multiple_of(config.log_every_n_steps);
    if due || step == config.train_steps {
        let means: Vec<_> =
            state.sums.iter().map(|(name, sum, n)| (name.clone(), sum / *n as f64)).collect();
        metrics.log(step, &means)?;
    }
    // Those of an odd last step go on where the training is extended.
    if due {
        state.sums.clear();
    }
    Ok(())
}

fn check_finite(values: &[(String, f64)], step: u64) -> Result<(), TrainingError> {
    match values.iter().find(|(_, value)| !value.is_finite()) {
        Some((tensor, _)) => Err(TrainingError::NotFinite { tensor: tensor.clone(), step }),
        None => Ok(()),
    }
}

fn save(
    run: &RunDir,
    config: &TrainingConfig,
    state: &LoopState,
    trainee: &dyn Trainee,
) -> Result<(), TrainingError> {
    // A checkpoint between two regular ones takes the number of the next, which replaces it.
    let number = state.step.div_ceil(config.save_every_n_steps);
    let regular = state.step.is_multiple_of(config.save_every_n_steps);
    let interim = !regular && state.step != config.train_steps;
    let state = LoopState { interim, ..state.clone() };
    run.checkpoints().save(number, |path| {
        trainee.save(path)?;
        let text = serde_json::to_vec_pretty(&state).map_err(io::Error::from)?;
        Ok::<_, TrainingError>(write_atomically(&path.join(STATE), &text)?)
    })?;
    Ok(())
}

pub(crate) fn read_state(checkpoint: &Path) -> Result<LoopState, TrainingError> {
    let path = checkpoint.join(STATE);
    let damaged =
        |reason: String| TrainingError::Checkpoint { path: path.display().to_string(), reason };
    let text = fs::read(&path).map_err(|e| damaged(e.to_string()))?;
    serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, Manifest, Random, Silent, TrainedRun};

    /// A random walk; interrupts itself at a step.
    struct Walk {
        position: f64,
        interrupt: Option<(u64, Interrupt)>,
        nan_at: u64,
    }

    impl Trainee for Walk {
        fn step(&mut self, step: u64) -> Result<Vec<(String, f64)>, TrainingError> {
            self.position += Random::derived(1, "walk", step).normal();
            if let Some((at, interrupt)) = &self.interrupt
                && *at == step
            {
                interrupt.raise();
            }
            let value = if step == self.nan_at { f64::NAN } else { self.position };
            Ok(vec![("position".into(), value)])
        }

        fn save(&self, directory: &Path) -> Result<(), TrainingError> {
            Ok(fs::write(directory.join("position"), self.position.to_le_bytes())?)
        }

        fn load(&mut self, directory: &Path) -> Result<(), TrainingError> {
            let bytes = fs::read(directory.join("position"))?;
            self.position = f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            Ok(())
        }
    }

    const CONFIG: TrainingConfig =
        TrainingConfig { train_steps: 25, save_every_n_steps: 10, log_every_n_steps: 4 };

    fn begin(path: &Path) -> RunDir {
        let manifest = Manifest::begin("walk", "walk", 1, serde_json::Value::Null, vec![]);
        RunDir::begin(path, manifest, true).unwrap()
    }

    fn run(path: &Path, interrupt_at: Option<u64>) -> (Outcome, f64) {
        let interrupt = Interrupt::new();
        let mut walk = Walk {
            position: 0.0,
            interrupt: interrupt_at.map(|at| (at, interrupt.clone())),
            nan_at: 0,
        };
        let outcome = train(&mut begin(path), &CONFIG, &mut walk, &Silent, &interrupt).unwrap();
        (outcome, walk.position)
    }

    #[test]
    fn an_interrupted_training_ends_with_the_same_bits_and_metrics() {
        let whole = tempfile::tempdir().unwrap();
        let (outcome, expected) = run(whole.path(), None);
        assert_eq!(outcome, Outcome::Complete);
        for at in 1..25 {
            let parts = tempfile::tempdir().unwrap();
            assert_eq!(run(parts.path(), Some(at)).0, Outcome::Interrupted { step: at });
            // Nobody else takes a checkpoint that will be replaced.
            let opened = TrainedRun::open(parts.path(), "walk", Some(at.div_ceil(10)));
            let interim = matches!(opened, Err(RunError::Interim { .. }));
            assert_eq!(interim, !at.is_multiple_of(10), "{at}");
            assert_eq!(run(parts.path(), None), (Outcome::Complete, expected));
            let metrics = |d: &Path| fs::read_to_string(d.join("metrics.jsonl")).unwrap();
            assert_eq!(metrics(parts.path()), metrics(whole.path()), "interrupted at {at}");
            let names = |d: &Path| {
                let entries = fs::read_dir(d.join("checkpoints")).unwrap();
                let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
                names.sort();
                names
            };
            assert_eq!(names(parts.path()), ["model-001", "model-002", "model-003"]);
        }
    }

    /// Gives its third step up, once.
    struct Slow(Walk, bool);

    impl Trainee for Slow {
        fn step(&mut self, step: u64) -> Result<Vec<(String, f64)>, TrainingError> {
            if step == 3 && !std::mem::replace(&mut self.1, true) {
                return Err(TrainingError::Interrupted);
            }
            self.0.step(step)
        }

        fn save(&self, directory: &Path) -> Result<(), TrainingError> {
            self.0.save(directory)
        }

        fn load(&mut self, directory: &Path) -> Result<(), TrainingError> {
            self.0.load(directory)
        }
    }

    #[test]
    fn a_step_that_is_given_up_is_done_again_later() {
        let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (_, expected) = run(whole.path(), None);
        let mut slow = Slow(Walk { position: 0.0, interrupt: None, nan_at: 0 }, false);
        let mut again = || {
            let mut run = begin(parts.path());
            train(&mut run, &CONFIG, &mut slow, &Silent, &Interrupt::new()).unwrap()
        };
        assert_eq!(again(), Outcome::Interrupted { step: 2 });
        assert_eq!(again(), Outcome::Complete);
        assert_eq!(slow.0.position, expected);
    }

    /// Is validated as the steps of 10 that it has done, with the loss of each checkpoint given.
    struct Validated(Walk, &'static [f64], CheckpointPolicy);

    impl Trainee for Validated {
        fn step(&mut self, step: u64) -> Result<Vec<(String, f64)>, TrainingError> {
            self.0.step(step)
        }

        fn save(&self, directory: &Path) -> Result<(), TrainingError> {
            self.0.save(directory)
        }

        fn load(&mut self, directory: &Path) -> Result<(), TrainingError> {
            self.0.load(directory)
        }

        fn policy(&self) -> CheckpointPolicy {
            self.2
        }

        fn checkpointed(
            &mut self,
            step: u64,
            _metrics: &mut Metrics,
        ) -> Result<Vec<(String, f64)>, TrainingError> {
            Ok(vec![("validation_loss".to_owned(), self.1[step as usize / 10 - 1])])
        }
    }

    const LOSSES: &[f64] = &[5.0, 3.0, 4.0, 3.0, 3.5, 2.0];

    /// Trains for `steps` steps with `policy`, breaking off at `interrupt_at`.
    fn run_validated(
        path: &Path,
        steps: u64,
        policy: CheckpointPolicy,
        interrupt_at: Option<u64>,
    ) -> Result<Outcome, TrainingError> {
        let training = TrainingConfig { train_steps: steps, ..CONFIG };
        let config = serde_json::json!({ "training": training, "model_config": {} });
        let mut manifest = Manifest::begin("walk", "walk", 1, config, vec![]);
        manifest.extendable = true;
        let mut run = RunDir::begin(path, manifest, true)?;
        let interrupt = Interrupt::new();
        let interrupted = interrupt_at.map(|at| (at, interrupt.clone()));
        let walk = Walk { position: 0.0, interrupt: interrupted, nan_at: 0 };
        let mut trainee = Validated(walk, LOSSES, policy);
        let outcome = train(&mut run, &training, &mut trainee, &Silent, &interrupt)?;
        if outcome == Outcome::Complete {
            run.complete(serde_json::Map::new())?;
        }
        Ok(outcome)
    }

    fn numbers(path: &Path) -> Vec<u64> {
        Checkpoints::new(&path.join("checkpoints")).numbers().unwrap()
    }

    fn position(path: &Path, number: u64) -> Vec<u8> {
        fs::read(Checkpoints::new(&path.join("checkpoints")).path(number).join("position")).unwrap()
    }

    #[test]
    fn a_training_stops_early_and_its_best_checkpoint_is_taken() {
        for interrupt_at in [None, Some(23), Some(30), Some(38)] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path();
            let policy = CheckpointPolicy { keep: Some(1), early_stopping: Some(3) };
            if interrupt_at.is_some() {
                run_validated(path, 60, policy, interrupt_at).unwrap();
                assert_eq!(Choice::Best.number(path, "walk").unwrap(), 2);
                assert!(Choice::Last.number(path, "walk").is_err());
            }
            assert_eq!(run_validated(path, 60, policy, None).unwrap(), Outcome::Complete);
            let results = RunDir::read(path, "walk").unwrap().results;
            let expected = serde_json::json!({
                "best_checkpoint": 2, "best_validation_loss": 3.0, "checkpoint": 2,
            });
            assert_eq!(serde_json::Value::from(results), expected);
            assert_eq!(numbers(path), [2, 5]);
            let taken = TrainedRun::open(path, "walk", None).unwrap();
            assert!(taken.checkpoint().ends_with("model-002"));
            assert_eq!(Choice::Best.number(path, "walk").unwrap(), 2);
            assert_eq!(Choice::Last.number(path, "walk").unwrap(), 5);
        }
    }

    #[test]
    fn a_finished_training_is_extended_to_the_same_bits() {
        let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (whole, parts) = (whole.path(), parts.path());
        let policy = CheckpointPolicy { keep: Some(1), early_stopping: None };
        run_validated(whole, 60, policy, None).unwrap();
        run_validated(parts, 30, policy, None).unwrap();
        assert_eq!(numbers(parts), [2, 3]);
        run_validated(parts, 60, policy, None).unwrap();
        assert_eq!(position(whole, 6), position(parts, 6));
        // Those that later stages may have worked with are still there.
        assert_eq!((numbers(whole), numbers(parts)), (vec![6], vec![2, 3, 6]));
        // Fewer steps are other work, and so are more where a checkpoint would be replaced.
        let error = run_validated(parts, 30, policy, None).unwrap_err().to_string();
        assert!(error.contains("train_steps 30, was 60"), "{error}");
        let odd = tempfile::tempdir().unwrap();
        run_validated(odd.path(), 20, policy, None).unwrap();
        run_validated(odd.path(), 29, policy, Some(25)).unwrap();
        run_validated(odd.path(), 30, policy, None).unwrap();
        assert_eq!(position(odd.path(), 3), position(parts, 3));
    }

    #[test]
    fn the_metrics_of_an_extended_training_are_those_of_a_whole_one() {
        let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (whole, parts) = (whole.path(), parts.path());
        let policy = CheckpointPolicy::default();
        run_validated(whole, 60, policy, None).unwrap();
        run_validated(parts, 30, policy, None).unwrap();
        run_validated(parts, 60, policy, None).unwrap();
        let lines = |path: &Path| -> Vec<String> {
            let text = fs::read_to_string(path.join("metrics.jsonl")).unwrap();
            text.lines().map(str::to_owned).collect()
        };
        let (whole, mut parts) = (lines(whole), lines(parts));
        // The last steps of the shorter one are logged once more.
        let last = |line: &String| line.contains("\"step\":30}") && line.contains("position");
        assert_eq!(parts.iter().filter(|line| last(line)).count(), 1, "{parts:?}");
        parts.retain(|line| !last(line));
        assert_eq!(parts, whole);
    }

    #[test]
    fn a_training_whose_last_checkpoint_would_be_replaced_is_not_extended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let policy = CheckpointPolicy::default();
        let manifest = |steps: u64| {
            let training = TrainingConfig { train_steps: steps, ..CONFIG };
            let config = serde_json::json!({ "training": training, "model_config": {} });
            let mut manifest = Manifest::begin("walk", "walk", 1, config, vec![]);
            manifest.extendable = true;
            (training, manifest)
        };
        // Killed after its last checkpoint, of step 25.
        let (training, begun) = manifest(25);
        let walk = Walk { position: 0.0, interrupt: None, nan_at: 0 };
        let mut run = RunDir::begin(path, begun, true).unwrap();
        let mut trainee = Validated(walk, &[5.0, 3.0, 4.0], policy);
        train(&mut run, &training, &mut trainee, &Silent, &Interrupt::new()).unwrap();
        drop(run);
        let extended = |extendable: bool| {
            let (_, mut more) = manifest(60);
            more.extendable = extendable;
            RunDir::begin(path, more, true).unwrap_err().to_string()
        };
        let error = extended(true);
        assert!(error.contains("train_steps 60, was 25: its last checkpoint"), "{error}");
        let error = extended(false);
        assert!(error.contains("train_steps 60, was 25: the first steps would"), "{error}");
    }

    #[test]
    fn a_training_that_stopped_early_says_so_when_more_is_asked_of_it() {
        struct Lines(std::sync::Mutex<Vec<String>>);
        impl Progress for Lines {
            fn set(&self, _done: u64, _total: u64) {}

            fn line(&self, line: &str) {
                self.0.lock().unwrap().push(line.to_owned());
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let policy = CheckpointPolicy { keep: None, early_stopping: Some(3) };
        // It stops at step 50, of 55.
        run_validated(path, 55, policy, None).unwrap();
        assert_eq!(numbers(path), [1, 2, 3, 4, 5]);
        let training = TrainingConfig { train_steps: 60, ..CONFIG };
        let config = serde_json::json!({ "training": training, "model_config": {} });
        let mut manifest = Manifest::begin("walk", "walk", 1, config, vec![]);
        manifest.extendable = true;
        let mut run = RunDir::begin(path, manifest, true).unwrap();
        let walk = Walk { position: 0.0, interrupt: None, nan_at: 0 };
        let lines = Lines(std::sync::Mutex::default());
        let mut trainee = Validated(walk, LOSSES, policy);
        train(&mut run, &training, &mut trainee, &lines, &Interrupt::new()).unwrap();
        let lines = lines.0.into_inner().unwrap();
        assert!(lines.iter().any(|line| line.starts_with("stopped early at step 50")), "{lines:?}");
    }

    #[test]
    fn pruning_that_was_killed_is_made_up_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let policy = CheckpointPolicy { keep: Some(1), early_stopping: None };
        run_validated(path, 60, CheckpointPolicy::default(), Some(40)).unwrap();
        // Killed in the middle of the last pruning: the first is on its way out.
        let checkpoints = path.join("checkpoints");
        fs::rename(checkpoints.join("model-001"), checkpoints.join(".model-001.1-0.tmp")).unwrap();
        fs::remove_file(checkpoints.join(".model-001.1-0.tmp/position")).unwrap();
        run_validated(path, 60, policy, Some(41)).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(&checkpoints).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["model-002", "model-004", "model-005"]);
        // What an interruption left is not one of the newest.
        run_validated(path, 60, policy, Some(42)).unwrap();
        assert_eq!(numbers(path), [2, 4, 5]);
    }

    #[test]
    fn a_checkpoint_that_somebody_took_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let policy = CheckpointPolicy { keep: Some(1), early_stopping: None };
        run_validated(path, 60, policy, Some(12)).unwrap();
        let taken = TrainedRun::open(path, "walk", Some(1)).unwrap();
        taken.keep().unwrap();
        run_validated(path, 60, policy, None).unwrap();
        assert_eq!(numbers(path), [1, 6]);
        fs::remove_dir_all(taken.checkpoint()).unwrap();
        assert!(matches!(taken.keep(), Err(RunError::NoCheckpoint { number: Some(1), .. })));
    }

    #[test]
    fn nan_stops_and_names_the_metric_and_the_step() {
        let directory = tempfile::tempdir().unwrap();
        let mut walk = Walk { position: 0.0, interrupt: None, nan_at: 12 };
        let error =
            train(&mut begin(directory.path()), &CONFIG, &mut walk, &Silent, &Interrupt::new())
                .unwrap_err();
        assert_eq!(
            error.to_string(),
            "position is not finite at step 12; checkpoints of earlier steps are good"
        );
    }
}
