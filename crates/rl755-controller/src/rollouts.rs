//! Playing many episodes at once: environments, world model and controllers in batches.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use rl755_env::{EnvRegistry, EnvSpec, ObservationRef, RgbFrame, VectorEnv};
use rl755_run::{Interrupt, panic_message};

use crate::{
    Controller, ControllerError, Episode, EpisodeLimits, Resources, WorldModel,
    rollout_group::RolloutGroup,
};

/// An episode to play.
#[derive(Clone, Copy, Debug)]
pub struct EpisodeTask<'a> {
    /// The controller's parameters.
    pub parameters: &'a [f32],
    /// What the environment is reset with.
    pub seed: u64,
}

/// What is called with each state an episode's actions are chosen in, and the one it ends on: its
/// picture for people, where there is one, and its observation.
pub(crate) type Watch<'a> = dyn FnMut(Option<RgbFrame>, ObservationRef<'_>) + Send + 'a;

/// Environments, reused from call to call, in which a controller plays through a world model.
///
/// Observations of all rows are encoded in one call, the controller acts on latents and hidden
/// states with each row's own parameters, then the sequence model and the environments step. A row
/// whose episode ends takes the next task; when none is left it is taken out of the batch, so that
/// it costs nothing. Rows do not influence each other: the same task gives the same episode, bit
/// for bit, whatever the batch, the groups and the threads.
pub struct Rollouts<'a> {
    world_model: &'a WorldModel,
    controller: &'a dyn Controller,
    limits: EpisodeLimits,
    spec: EnvSpec,
    groups: Vec<VectorEnv>,
}

impl<'a> Rollouts<'a> {
    /// Makes the environments, of the kind called `environment`, for up to `most_tasks` tasks a
    /// call.
    ///
    /// # Errors
    /// When an environment cannot be made, or does not fit the world model.
    pub fn new(
        environments: &EnvRegistry,
        environment: &str,
        world_model: &'a WorldModel,
        controller: &'a dyn Controller,
        (resources, most_tasks): (Resources, usize),
    ) -> Result<Self, ControllerError> {
        let batch = resources.batch.min(most_tasks).max(1);
        let threads = resources.threads.max(1);
        let groups = if resources.groups == 0 { threads } else { resources.groups }.min(batch);
        let groups = (0..groups)
            .map(|group| {
                // As even as possible.
                let share = |total: usize| (total + groups - 1 - group) / groups;
                VectorEnv::make(environments, environment, share(batch), share(threads))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let spec = groups[0].spec().clone();
        world_model.controller_inputs(&spec)?;
        let limits = EpisodeLimits::default();
        Ok(Self { world_model, controller, limits, spec, groups })
    }

    /// The environment's spaces and rules.
    pub fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    /// Breaks episodes off at `limits` from now on. At first there are none.
    pub fn set_limits(&mut self, limits: EpisodeLimits) {
        self.limits = limits;
    }

    /// Plays an episode for each task, and reports how many are done; the results are in the order
    /// of the tasks.
    ///
    /// # Errors
    /// When parameters have another length than the controller's, a model or an environment fails
    /// or panics, or `interrupt` is raised.
    pub fn play(
        &mut self,
        tasks: &[EpisodeTask<'_>],
        report: &(dyn Fn(usize) + Sync),
        interrupt: &Interrupt,
    ) -> Result<Vec<Episode>, ControllerError> {
        self.check(tasks)?;
        let queue = TaskQueue::new(tasks, interrupt);
        let finished = AtomicUsize::new(0);
        let results = Mutex::new(vec![None; tasks.len()]);
        let failure = Mutex::new(None);
        let setting = (self.world_model, self.controller, self.limits);
        let work = |envs: &mut VectorEnv| {
            let mut done = |task, episode| {
                report(finished.fetch_add(1, Ordering::Relaxed) + 1);
                if let Ok(mut results) = results.lock() {
                    results[task] = Some(episode);
                }
            };
            let group = RolloutGroup::new(envs, setting, &queue);
            // The other groups must not play all tasks before a panic is seen. Nothing of this call
            // is used after one.
            let outcome = catch_unwind(AssertUnwindSafe(|| group.play(&mut done))).unwrap_or_else(
                |payload| {
                    let message = panic_message(payload.as_ref());
                    Err(ControllerError::Panicked { message })
                },
            );
            if let Err(error) = outcome {
                queue.stop();
                if let Ok(mut failure) = failure.lock() {
                    // Of several groups that fail, the first to report is as good as another.
                    failure.get_or_insert(error);
                }
            }
        };
        match self.groups.as_mut_slice() {
            [only] => work(only),
            groups => std::thread::scope(|scope| {
                for envs in groups {
                    scope.spawn(|| work(envs));
                }
            }),
        }
        if let Some(error) = failure.into_inner().unwrap_or_default() {
            return Err(error);
        }
        let results = results.into_inner().unwrap_or_default();
        let episodes: Option<Vec<Episode>> = results.into_iter().collect();
        // Without a failure, only an interruption leaves tasks undone.
        episodes.filter(|e| e.len() == tasks.len()).ok_or(ControllerError::Interrupted)
    }

    /// Plays one episode and shows every state, the last one included, to `watch`.
    pub(crate) fn play_watched(
        &mut self,
        task: EpisodeTask<'_>,
        watch: &mut Watch<'_>,
        interrupt: &Interrupt,
    ) -> Result<Episode, ControllerError> {
        self.check(&[task])?;
        let tasks = [task];
        let queue = TaskQueue::new(&tasks, interrupt);
        let setting = (self.world_model, self.controller, self.limits);
        let mut result = None;
        RolloutGroup::new(&mut self.groups[0], setting, &queue)
            .watched(watch)
            .play(&mut |_, episode| result = Some(episode))?;
        result.ok_or(ControllerError::Interrupted)
    }

    fn check(&self, tasks: &[EpisodeTask<'_>]) -> Result<(), ControllerError> {
        let expected = self.controller.num_parameters();
        match tasks.iter().find(|task| task.parameters.len() != expected) {
            Some(task) => Err(ControllerError::Misfit {
                what: "number of parameters",
                one: "the controller".to_owned(),
                one_size: expected.to_string(),
                other: "a member".to_owned(),
                other_size: task.parameters.len().to_string(),
            }),
            None => Ok(()),
        }
    }
}

/// Tasks that groups take one by one.
pub(crate) struct TaskQueue<'a> {
    tasks: &'a [EpisodeTask<'a>],
    next: AtomicUsize,
    stopped: AtomicBool,
    interrupt: &'a Interrupt,
}

impl<'a> TaskQueue<'a> {
    fn new(tasks: &'a [EpisodeTask<'a>], interrupt: &'a Interrupt) -> Self {
        Self { tasks, next: AtomicUsize::new(0), stopped: AtomicBool::new(false), interrupt }
    }

    /// The next task and its index.
    pub(crate) fn take(&self) -> Option<(usize, EpisodeTask<'a>)> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        self.tasks.get(index).map(|task| (index, *task))
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether to give up episodes that are being played.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.interrupt.is_raised()
    }
}
