//! Several environments stepped together over threads.

mod batch;
mod crew;
mod slot;

use self::{
    batch::{Batch, Call, Workers},
    crew::Crew,
    slot::Slot,
};
use crate::{Env, EnvError, EnvRegistry, EnvSpec, ObservationBuffer, ObservationRef, RgbFrame};

/// What becomes of an environment whose episode ended, as in Gymnasium 1.x.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoresetMode {
    /// It is left alone until the caller resets it.
    #[default]
    Disabled,
    /// The next step for it begins an episode: the action is not looked at, the reward is 0, and
    /// the observation is the first one. Gymnasium's default.
    NextStep,
    /// The same step begins an episode: the observation is its first one, and the last one of the
    /// episode that ended is the [`final_observation`](VectorEnv::final_observation).
    SameStep,
}

/// Environments of one kind, stepped together by a fixed number of threads.
///
/// All observations lie in one allocation, made once; steps take no memory, unless an environment
/// does. What happens depends only on seeds and actions, not on the number of threads. An
/// environment whose episode ended is left alone until it is reset, unless another
/// [`AutoresetMode`] is asked for.
///
/// ```
/// use rl755_env::{EnvRegistry, VectorEnv};
///
/// let mut envs = VectorEnv::make(&EnvRegistry::with_builtin(), "CartPole-v1", 3, 2)?;
/// envs.reset_all(&[1, 2, 3])?;
/// while envs.live().contains(&true) {
///     let steps = envs.step(&[0.0, 1.0, 0.0], &[true, true, true])?;
///     assert_eq!(steps.rewards.len(), 3);
/// }
/// # Ok::<(), rl755_env::EnvError>(())
/// ```
pub struct VectorEnv {
    /// None: the caller's thread does the work.
    crew: Option<Crew>,
    spec: EnvSpec,
    mode: AutoresetMode,
    batch: Batch,
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    live: Vec<bool>,
}

/// What one step gave, one element per environment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps<'a> {
    /// This step's rewards; 0 where no step was taken, and where a step began an episode.
    pub rewards: &'a [f64],
    /// Whether the episode reached a terminal state, now or in an earlier step that no reset
    /// followed.
    pub terminated: &'a [bool],
    /// Whether the episode was cut off, now or in an earlier step that no reset followed.
    pub truncated: &'a [bool],
}

impl VectorEnv {
    /// Makes `count` environments called `id`, to be stepped by `threads` threads (0 counts as 1).
    ///
    /// # Errors
    /// When one cannot be made, or the threads cannot be started.
    pub fn make(
        registry: &EnvRegistry,
        id: &str,
        count: usize,
        threads: usize,
    ) -> Result<Self, EnvError> {
        let envs = (0..count).map(|_| registry.make(id)).collect::<Result<_, _>>()?;
        Self::new(envs, threads)
    }

    /// Joins `envs`, to be stepped by `threads` threads (0 counts as 1).
    ///
    /// # Errors
    /// When there are none, when their spaces differ, or when the threads cannot be started.
    pub fn new(envs: Vec<Box<dyn Env>>, threads: usize) -> Result<Self, EnvError> {
        let Some(first) = envs.first() else {
            return Err(vector_error("it needs at least one environment".to_owned()));
        };
        let spec = first.spec().clone();
        for (index, env) in envs.iter().enumerate() {
            let other = env.spec();
            if (&other.observation_space, &other.action_space)
                != (&spec.observation_space, &spec.action_space)
            {
                let message = format!(
                    "environments must have the same spaces, but those of environment {index} \
                     ({}) differ from those of environment 0 ({})",
                    other.id, spec.id
                );
                return Err(vector_error(message));
            }
        }
        let crew = match threads.min(envs.len()) {
            0 | 1 => None,
            threads => Some(
                Crew::new(threads)
                    .map_err(|error| vector_error(format!("cannot start threads: {error}")))?,
            ),
        };
        let count = envs.len();
        Ok(Self {
            crew,
            batch: Batch::new(envs.into_iter().map(Slot::new).collect(), &spec),
            spec,
            mode: AutoresetMode::Disabled,
            rewards: vec![0.0; count],
            terminated: vec![false; count],
            truncated: vec![false; count],
            live: vec![false; count],
        })
    }

    /// The same environments, with `mode` instead of [`AutoresetMode::Disabled`].
    #[must_use]
    pub fn with_autoreset_mode(mut self, mode: AutoresetMode) -> Self {
        self.mode = mode;
        self.batch.slots.iter_mut().for_each(|slot| slot.make_room(mode, &self.spec));
        self
    }

    /// What becomes of environments whose episodes ended.
    pub fn autoreset_mode(&self) -> AutoresetMode {
        self.mode
    }

    /// The spaces and rules that all environments share.
    pub fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    /// How many environments there are; never 0.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.batch.slots.len()
    }

    /// The latest observation of each environment, one after another.
    pub fn observations(&self) -> &ObservationBuffer {
        &self.batch.observations
    }

    /// The latest observation of environment `index`.
    ///
    /// # Panics
    /// When there is no such environment.
    pub fn observation(&self, index: usize) -> ObservationRef<'_> {
        self.batch.observations.row(index, self.spec.observation_space.width())
    }

    /// The last observation of the episode of environment `index` that ended in the latest step,
    /// if the next one began in the same: Gymnasium's `final_obs`. `None` in other modes.
    ///
    /// # Panics
    /// When there is no such environment.
    pub fn final_observation(&self, index: usize) -> Option<ObservationRef<'_>> {
        self.batch.slots[index].final_observation()
    }

    /// A picture of environment `index` for people; `None` from environments that have none.
    ///
    /// # Errors
    /// When it was not reset.
    ///
    /// # Panics
    /// When there is no such environment.
    pub fn render_at(&mut self, index: usize) -> Result<Option<RgbFrame>, EnvError> {
        self.batch.slots[index].env.render()
    }

    /// Which environments are in an episode: reset, and not done since.
    pub fn live(&self) -> &[bool] {
        &self.live
    }

    /// Starts an episode in every environment, each with its own seed.
    ///
    /// # Errors
    /// When there is not one seed for each; when a reset fails, naming the first that did.
    pub fn reset_all(&mut self, seeds: &[u64]) -> Result<(), EnvError> {
        self.check_length("seeds", seeds.len(), 1)?;
        for (slot, &seed) in self.batch.slots.iter_mut().zip(seeds) {
            slot.seed = Some(seed);
        }
        self.run(Call::Reset);
        self.gather()
    }

    /// Starts an episode in environment `index`; without a seed its random stream goes on.
    ///
    /// # Errors
    /// When the reset fails.
    ///
    /// # Panics
    /// When there is no such environment.
    pub fn reset_at(&mut self, index: usize, seed: Option<u64>) -> Result<(), EnvError> {
        self.batch.reset_at(index, seed);
        self.gather()
    }

    /// Steps every environment that is [`live`](Self::live) and `active`. With
    /// [`AutoresetMode::NextStep`], those that are `active` and whose episode ended begin another.
    ///
    /// `actions` is `[environment, action width]`, row-major; rows of environments that are not
    /// stepped are not looked at. The observations of those stay as they were.
    ///
    /// # Errors
    /// When a slice has the wrong length. When an environment fails, naming the first that did;
    /// the others have been stepped, and the failed one waits for a reset.
    pub fn step(&mut self, actions: &[f32], active: &[bool]) -> Result<Steps<'_>, EnvError> {
        let width = self.spec.action_space.width();
        self.check_length("actions", actions.len(), width)?;
        self.check_length("active", active.len(), 1)?;
        for (slot, &active) in self.batch.slots.iter_mut().zip(active) {
            slot.prepare(active, self.mode);
        }
        self.batch.actions.copy_from_slice(actions);
        self.run(Call::Step(self.mode));
        self.gather()?;
        Ok(Steps {
            rewards: &self.rewards,
            terminated: &self.terminated,
            truncated: &self.truncated,
        })
    }

    fn check_length(&self, what: &'static str, got: usize, width: usize) -> Result<(), EnvError> {
        let count = self.len();
        if got == count * width {
            return Ok(());
        }
        Err(EnvError::VectorLength { what, got, expected: count * width, count })
    }

    /// Does what `call` says with each environment.
    fn run(&mut self, call: Call) {
        match &self.crew {
            Some(crew) => crew.run(&mut self.batch, call),
            None => self.batch.run(call, Workers::This),
        }
    }

    /// Copies what the environments reported into the slices that callers see.
    fn gather(&mut self) -> Result<(), EnvError> {
        let count = self.len();
        let mut first_error = None;
        for (index, slot) in self.batch.slots.iter_mut().enumerate() {
            self.rewards[index] = slot.step.reward;
            self.terminated[index] = slot.step.terminated;
            self.truncated[index] = slot.step.truncated;
            self.live[index] = slot.live;
            if let (Some(reason), None) = (slot.error.take(), &first_error) {
                let reason = Box::new(reason);
                first_error = Some(EnvError::InVector { index, count, reason });
            }
        }
        first_error.map_or(Ok(()), Err)
    }
}

fn vector_error(message: String) -> EnvError {
    EnvError::Other { env: "VectorEnv".to_owned(), message }
}

impl std::fmt::Debug for VectorEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VectorEnv")
            .field("id", &self.spec.id)
            .field("len", &self.len())
            .field("mode", &self.mode)
            .field("live", &self.live)
            .finish_non_exhaustive()
    }
}
