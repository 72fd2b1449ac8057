//! Collecting rollouts: a policy acts in an environment, on several threads.

mod policies;
mod policy;
pub(crate) mod session;

use std::{
    fs, io,
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, ScopedJoinHandle},
};

use rl755_env::{Env, EnvError, EnvRegistry, ObservationBuffer};
use rl755_run::{
    AtomicFile, Interrupt, Progress, SettingError, derive_seed, panic_message, write_record,
};
use serde::{Deserialize, Serialize};

pub use self::policy::{Policy, PolicyError, PolicyRegistry};
use crate::{
    FrameFormat, RolloutRecorder, SchemaError,
    collect::session::{NoSession, Request, Session, rollout_name, rollout_prefix},
    record::MAX_RECORD_BYTES,
};

/// The most rollouts of a session, as their names have 6 digits.
const MAX_ROLLOUTS: u64 = 1_000_000;
/// The most threads of a process.
const MAX_THREADS: u64 = 4096;
/// The longest rollout that fits into a record, at 2 KB a step.
const MAX_STEPS: u64 = 1_000_000;

/// What to collect, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectConfig {
    /// The environment's id.
    pub environment: String,
    /// The policy's name.
    pub policy: String,
    /// How many rollouts this call adds, 1 to 1,000,000.
    pub num_rollouts: u64,
    /// Rollouts at a time, each on a thread of its own, 1 to 4,096. The rollouts do not depend on
    /// it.
    pub parallelism: usize,
    /// The longest a rollout gets, in steps, 1 to 1,000,000. It is shorter where the task ends or
    /// the environment's own time limit is reached.
    pub max_steps: u64,
    /// Where the rollouts go. Several processes may collect into one directory at once.
    pub out_dir: PathBuf,
    /// What every rollout's seed derives from.
    pub seed: u64,
    /// How frames are stored; it says nothing where observations are vectors. Default PNG.
    pub frame_format: FrameFormat,
    /// Whether one session with this config is enough: where one is complete, at most rollouts of it
    /// that are gone are collected again.
    pub once: bool,
}

/// What a call to [`collect`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectReport {
    /// The session it worked on. Its rollouts are called `rollout-SESSION-INDEX.tfrecord`.
    pub session: u32,
    /// Rollouts that an earlier process had collected in this session.
    pub resumed: u64,
    /// Rollouts that this call collected.
    pub collected: u64,
    /// Steps in the rollouts that this call collected.
    pub steps: u64,
    /// Whether it was asked to stop before the session was complete. The same call goes on.
    pub interrupted: bool,
}

/// Rollouts could not be collected. Those that were finished before are kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// A setting that cannot be worked with.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The environment could not be made, reset or stepped.
    #[error(transparent)]
    Environment(#[from] EnvError),
    /// The policy could not be made.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A rollout cannot be stored: a number is NaN or infinite, a frame has too many channels.
    #[error("rollout {index} of session {session} cannot be stored: {source}")]
    Rollout {
        /// The session.
        session: u32,
        /// Which of its rollouts.
        index: u64,
        /// What is wrong.
        source: SchemaError,
    },
    /// A rollout is too large to be stored: TensorFlow's records have at most 2 GiB.
    #[error(
        "rollout {index} of session {session} has {bytes} bytes, and a record at most \
         {MAX_RECORD_BYTES}; collect with fewer steps"
    )]
    TooLarge {
        /// The session.
        session: u32,
        /// Which of its rollouts.
        index: u64,
        /// Its size.
        bytes: u64,
    },
    /// Another process collects the same, and once is enough.
    #[error("another process is at work on session {session} in {}", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
        /// The session.
        session: u32,
    },
    /// The directory has rollouts of another environment; a dataset is of one.
    #[error("{} has rollouts of {found}; give another directory", path.display())]
    OtherEnvironment {
        /// The directory.
        path: PathBuf,
        /// Their environment's id.
        found: String,
    },
    /// A thread could not be started.
    #[error("a thread could not be started ({0}); give a lower --parallelism")]
    Threads(io::Error),
    /// A thread panicked.
    #[error("a thread that collects rollouts panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
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

/// Collects rollouts, each into a file of its own, `rollout-SESSION-INDEX.tfrecord`.
///
/// Each call is a session, unless `once` is set and there is one for the same config; a session
/// that was interrupted or killed is gone on with. Its rollouts depend on the config's seed, the
/// session's number and their index alone, not on threads, on other processes or on how often the
/// session was interrupted.
///
/// # Errors
/// When the config makes no sense, a name is unknown, the environment fails or panics, or the
/// directory cannot be written.
pub fn collect(
    config: &CollectConfig,
    environments: &EnvRegistry,
    policies: &PolicyRegistry,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<CollectReport, CollectError> {
    check_config(config)?;
    // Wrong names are told before anything is written.
    let env = environments.make(&config.environment)?;
    let spec = env.spec().clone();
    policies.make(&config.policy, &spec.action_space, 0)?;
    let request = Request {
        environment: spec,
        policy: config.policy.clone(),
        num_rollouts: config.num_rollouts,
        max_steps: config.max_steps,
        seed: config.seed,
        frame_format: config.frame_format,
    };
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| CollectError::Io { path, source }
    };
    let mut session = Session::claim(&config.out_dir, &request, config.once).map_err(|why| {
        let path = config.out_dir.clone();
        match why {
            NoSession::Busy(session) => CollectError::Busy { path, session },
            NoSession::OtherEnvironment(found) => CollectError::OtherEnvironment { path, found },
            NoSession::Io(path, source) => CollectError::Io { path, source },
        }
    })?;
    let prefix = rollout_prefix(session.number);
    AtomicFile::clear_temporaries(&config.out_dir, |name| name.starts_with(&prefix))
        .map_err(io(&config.out_dir))?;
    let missing: Vec<u64> = (0..config.num_rollouts)
        .filter(|&i| !is_written(&config.out_dir.join(rollout_name(session.number, i))))
        .collect();
    let run = Run {
        config,
        policies,
        progress,
        interrupt,
        session: session.number,
        next: AtomicUsize::new(0),
        done: AtomicU64::new(config.num_rollouts - missing.len() as u64),
        steps: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        error: Mutex::new(None),
        missing,
    };
    run.work(env, environments)?;
    let resumed = config.num_rollouts - run.missing.len() as u64;
    let done = run.done.load(Ordering::SeqCst);
    let interrupted = done < config.num_rollouts;
    if !interrupted {
        session.complete().map_err(io(&config.out_dir))?;
    }
    Ok(CollectReport {
        session: session.number,
        resumed,
        collected: done - resumed,
        steps: run.steps.load(Ordering::SeqCst),
        interrupted,
    })
}

/// Whether there is a rollout at `path`, and not an empty file that something else left.
fn is_written(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0)
}

fn check_config(config: &CollectConfig) -> Result<(), SettingError> {
    SettingError::check_range(MAX_ROLLOUTS, [("num_rollouts", config.num_rollouts)])?;
    SettingError::check_range(MAX_THREADS, [("parallelism", config.parallelism as u64)])?;
    SettingError::check_range(MAX_STEPS, [("max_steps", config.max_steps)])
}

/// What the threads of a session share.
struct Run<'a> {
    config: &'a CollectConfig,
    policies: &'a PolicyRegistry,
    progress: &'a dyn Progress,
    interrupt: &'a Interrupt,
    session: u32,
    /// Indices of the rollouts to collect, and which of them comes next.
    missing: Vec<u64>,
    next: AtomicUsize,
    done: AtomicU64,
    steps: AtomicU64,
    /// Set when a thread failed.
    stop: AtomicBool,
    error: Mutex<Option<CollectError>>,
}

/// Sets a flag when dropped, also by a panic.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

impl Run<'_> {
    /// Collects what is missing on the config's number of threads; `env` is the first one's.
    fn work(&self, env: Box<dyn Env>, environments: &EnvRegistry) -> Result<(), CollectError> {
        let threads = self.config.parallelism.min(self.missing.len());
        let mut envs = vec![env];
        while envs.len() < threads {
            envs.push(environments.make(&self.config.environment)?);
        }
        envs.truncate(threads);
        self.progress.set(self.done.load(Ordering::SeqCst), self.config.num_rollouts);
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for env in envs {
                let thread = thread::Builder::new().spawn_scoped(scope, || self.worker(env));
                threads.push(thread.map_err(|error| {
                    self.stop.store(true, Ordering::SeqCst);
                    CollectError::Threads(error)
                })?);
            }
            match threads.into_iter().filter_map(|thread| thread.join().err()).next() {
                Some(payload) => {
                    let message = panic_message(payload.as_ref());
                    Err(CollectError::Panicked { message })
                }
                None => Ok(()),
            }
        })?;
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map_or(Ok(()), Err)
    }

    fn worker(&self, mut env: Box<dyn Env>) {
        let _stop_others = SetOnDrop(&self.stop);
        // A rollout is written and synced while the next one is collected.
        thread::scope(|scope| {
            let mut writing: Option<ScopedJoinHandle<'_, ()>> = None;
            while !self.should_stop() {
                let next = self.next.fetch_add(1, Ordering::SeqCst);
                let Some(&index) = self.missing.get(next) else { return };
                let finished = match self.rollout(env.as_mut(), index) {
                    Ok(Some(finished)) => finished,
                    Ok(None) => return,
                    Err(error) => return self.fail(error),
                };
                // One at a time, so that few are in memory.
                if let Some(Err(panic)) = writing.take().map(ScopedJoinHandle::join) {
                    resume_unwind(panic);
                }
                let write = move || self.write(index, &finished);
                match thread::Builder::new().spawn_scoped(scope, write) {
                    Ok(thread) => writing = Some(thread),
                    Err(error) => return self.fail(CollectError::Threads(error)),
                }
            }
        });
    }

    /// Writes rollout `index`, after which it counts.
    fn write(&self, index: u64, finished: &Finished) {
        let path = self.config.out_dir.join(rollout_name(self.session, index));
        if let Err(source) = write_rollout(&path, &finished.record) {
            return self.fail(CollectError::Io { path, source });
        }
        self.steps.fetch_add(finished.steps, Ordering::SeqCst);
        let done = self.done.fetch_add(1, Ordering::SeqCst) + 1;
        self.progress.set(done, self.config.num_rollouts);
    }

    /// Ends the work; the first error is the one that is told.
    fn fail(&self, error: CollectError) {
        self.stop.store(true, Ordering::SeqCst);
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }

    fn should_stop(&self) -> bool {
        self.interrupt.is_raised() || self.stop.load(Ordering::Relaxed)
    }

    /// Collects rollout `index`; `None` when it was abandoned to stop.
    fn rollout(&self, env: &mut dyn Env, index: u64) -> Result<Option<Finished>, CollectError> {
        let unstorable = |source| CollectError::Rollout { session: self.session, index, source };
        let spec = env.spec().clone();
        let number = u64::from(self.session) << 32 | index;
        let seed = derive_seed(self.config.seed, "rollout", number);
        let policy_seed = derive_seed(seed, "policy", 0);
        let mut policy =
            self.policies.make(&self.config.policy, &spec.action_space, policy_seed)?;
        let mut action = vec![0.0; spec.action_space.width()];
        let mut observation = ObservationBuffer::zeros(&spec.observation_space, 1);
        let mut following = observation.clone();
        let mut recorder =
            RolloutRecorder::new(spec, seed, &self.config.policy, self.config.frame_format);
        env.reset(Some(seed), observation.as_mut())?;
        let (mut terminated, mut truncated) = (false, false);
        while !terminated && !truncated {
            if self.should_stop() {
                return Ok(None);
            }
            policy.act(observation.as_ref(), &mut action);
            let step = env.step(&action, following.as_mut())?;
            recorder.push(observation.as_ref(), &action, step.reward as f32).map_err(unstorable)?;
            std::mem::swap(&mut observation, &mut following);
            terminated = step.terminated;
            // A task that ends with the last step allowed is not cut off.
            let at_limit = recorder.steps() as u64 >= self.config.max_steps;
            truncated = step.truncated || (at_limit && !terminated);
        }
        let steps = recorder.steps() as u64;
        let record = recorder.finish(terminated, truncated);
        let bytes = record.len() as u64;
        if bytes > MAX_RECORD_BYTES {
            return Err(CollectError::TooLarge { session: self.session, index, bytes });
        }
        Ok(Some(Finished { record, steps }))
    }
}

/// A rollout that was collected and is to be written.
struct Finished {
    record: Vec<u8>,
    steps: u64,
}

fn write_rollout(path: &Path, record: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    write_record(&mut file, record)?;
    file.commit()
}

/// The rollout files in `directory`, in the order of their sessions and indices.
pub(crate) fn rollout_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let path = directory.join(&name);
        if let Some(key) = name.to_str().and_then(crate::collect::session::parse_rollout_name)
            && path.is_file()
        {
            files.push((key, path));
        }
    }
    files.sort_unstable();
    Ok(files.into_iter().map(|(_, path)| path).collect())
}
