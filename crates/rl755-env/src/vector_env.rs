//! Several environments stepped together over threads.

use rayon::{
    ThreadPool, ThreadPoolBuilder,
    iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator},
    slice::{ParallelSlice, ParallelSliceMut},
};

use crate::{
    Env, EnvError, EnvRegistry, EnvSpec, ObservationBuffer, ObservationMut, ObservationRef,
    RgbFrame, Step,
};

/// Environments of one kind, stepped together by a fixed number of threads.
///
/// All observations lie in one allocation, made once. What happens depends only on seeds and
/// actions, not on the number of threads. An environment whose episode ended is left alone until
/// it is reset; nothing is reset behind the caller's back.
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
    pool: Option<ThreadPool>,
    spec: EnvSpec,
    slots: Vec<Slot>,
    observations: ObservationBuffer,
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    live: Vec<bool>,
}

/// What one step gave, one element per environment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps<'a> {
    /// This step's rewards; 0 where no step was taken.
    pub rewards: &'a [f64],
    /// Whether the episode reached a terminal state, now or in an earlier step.
    pub terminated: &'a [bool],
    /// Whether the episode was cut off, now or in an earlier step.
    pub truncated: &'a [bool],
}

struct Slot {
    env: Box<dyn Env>,
    step: Step,
    live: bool,
    /// Whether the step under way is for it.
    active: bool,
    error: Option<EnvError>,
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
        let pool = match threads.min(envs.len()) {
            0 | 1 => None,
            threads => Some(
                ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .thread_name(|index| format!("env-{index}"))
                    .build()
                    .map_err(|error| vector_error(format!("cannot start threads: {error}")))?,
            ),
        };
        let count = envs.len();
        Ok(Self {
            pool,
            observations: ObservationBuffer::zeros(&spec.observation_space, count),
            spec,
            slots: envs.into_iter().map(Slot::new).collect(),
            rewards: vec![0.0; count],
            terminated: vec![false; count],
            truncated: vec![false; count],
            live: vec![false; count],
        })
    }

    /// The spaces and rules that all environments share.
    pub fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    /// How many environments there are; never 0.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The latest observation of each environment, one after another.
    pub fn observations(&self) -> &ObservationBuffer {
        &self.observations
    }

    /// The latest observation of environment `index`.
    ///
    /// # Panics
    /// When there is no such environment.
    pub fn observation(&self, index: usize) -> ObservationRef<'_> {
        self.observations.row(index, self.spec.observation_space.width())
    }

    /// A picture of environment `index` for people; `None` from environments that have none.
    ///
    /// # Errors
    /// When it was not reset.
    ///
    /// # Panics
    /// When there is no such environment.
    pub fn render_at(&mut self, index: usize) -> Result<Option<RgbFrame>, EnvError> {
        self.slots[index].env.render()
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
        self.each(seeds, 1, |slot, seed, observation| slot.reset(Some(seed[0]), observation));
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
        let width = self.spec.observation_space.width();
        let range = index * width..(index + 1) * width;
        let observation = match &mut self.observations {
            ObservationBuffer::U8(v) => ObservationMut::U8(&mut v[range]),
            ObservationBuffer::F32(v) => ObservationMut::F32(&mut v[range]),
        };
        self.slots[index].reset(seed, observation);
        self.gather()
    }

    /// Steps every environment that is [`live`](Self::live) and `active`.
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
        for (slot, &active) in self.slots.iter_mut().zip(active) {
            slot.step.reward = 0.0;
            slot.error = None;
            slot.active = active && slot.live;
        }
        self.each(actions, width, Slot::step);
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

    /// Calls `work` for each environment with its row of `input` and its observation.
    fn each<T: Sync>(
        &mut self,
        input: &[T],
        input_width: usize,
        work: impl Fn(&mut Slot, &[T], ObservationMut<'_>) + Sync,
    ) {
        let width = self.spec.observation_space.width();
        let (pool, slots) = (self.pool.as_ref(), &mut self.slots[..]);
        match &mut self.observations {
            ObservationBuffer::U8(v) => {
                let work = |slot: &mut Slot, row: &[T], o: &mut [u8]| {
                    work(slot, row, ObservationMut::U8(o));
                };
                spread(pool, slots, (input, input_width), (v, width), work);
            }
            ObservationBuffer::F32(v) => {
                let work = |slot: &mut Slot, row: &[T], o: &mut [f32]| {
                    work(slot, row, ObservationMut::F32(o));
                };
                spread(pool, slots, (input, input_width), (v, width), work);
            }
        }
    }

    /// Copies what the environments reported into the slices that callers see.
    fn gather(&mut self) -> Result<(), EnvError> {
        let count = self.slots.len();
        let mut first_error = None;
        for (index, slot) in self.slots.iter_mut().enumerate() {
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

impl Slot {
    fn new(env: Box<dyn Env>) -> Self {
        Self { env, step: Step::default(), live: false, active: false, error: None }
    }

    fn reset(&mut self, seed: Option<u64>, observation: ObservationMut<'_>) {
        self.step = Step::default();
        self.error = self.env.reset(seed, observation).err();
        self.live = self.error.is_none();
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) {
        if !self.active {
            return;
        }
        match self.env.step(action, observation) {
            Ok(step) => self.step = step,
            Err(error) => self.error = Some(error),
        }
        self.live = self.error.is_none() && !self.step.done();
    }
}

/// Calls `work` for each environment, in the pool's threads or in this one.
fn spread<T: Sync, O: Send>(
    pool: Option<&ThreadPool>,
    slots: &mut [Slot],
    (input, input_width): (&[T], usize),
    (observations, width): (&mut [O], usize),
    work: impl Fn(&mut Slot, &[T], &mut [O]) + Sync,
) {
    let Some(pool) = pool else {
        let rows = input.chunks_exact(input_width).zip(observations.chunks_exact_mut(width));
        for (slot, (row, observation)) in slots.iter_mut().zip(rows) {
            work(slot, row, observation);
        }
        return;
    };
    pool.install(|| {
        slots
            .par_iter_mut()
            .zip(input.par_chunks_exact(input_width))
            .zip(observations.par_chunks_exact_mut(width))
            .for_each(|((slot, row), observation)| work(slot, row, observation));
    });
}

fn vector_error(message: String) -> EnvError {
    EnvError::Other { env: "VectorEnv".to_owned(), message }
}

impl std::fmt::Debug for VectorEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VectorEnv")
            .field("id", &self.spec.id)
            .field("len", &self.len())
            .field("live", &self.live)
            .finish_non_exhaustive()
    }
}
