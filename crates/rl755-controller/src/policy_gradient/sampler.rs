//! Episodes of a policy, played by several threads, the same whatever their number.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use rl755_env::{Env, ObservationBuffer};
use rl755_run::{Interrupt, Progress, Random, TrainingError, derive_seed, panic_message};

use super::policy::Policy;
use crate::{ControllerError, TrackSet};

/// An episode as it was played.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trajectory {
    /// `[step, observation]`, with the last state of the episode.
    pub(crate) observations: Vec<f64>,
    /// As the policy chose them: `[step, action]`.
    pub(crate) actions: Vec<f64>,
    pub(crate) rewards: Vec<f64>,
    /// Whether it ended in a terminal state of the task; otherwise it was cut off.
    pub(crate) terminated: bool,
}

/// What to play.
#[derive(Clone, Copy)]
pub(crate) struct Sampling<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) parameters: &'a [f64],
    /// Episodes are played until there are as many steps.
    pub(crate) batch_size: usize,
    /// Steps after which an episode is broken off.
    pub(crate) limit: u32,
    /// The training's, from which episodes and actions of each iteration derive.
    pub(crate) seed: u64,
    /// The iteration.
    pub(crate) step: u64,
}

/// What the threads know of one another. Episodes are taken by number, in order, and the batch is the
/// first of them that have enough steps, or an error. Those that are begun beyond are thrown away: so
/// what is in the batch does not depend on who plays.
struct Board {
    next: AtomicU64,
    /// How many episodes are needed at most.
    needed: AtomicU64,
    finished: Mutex<Finished>,
}

/// Episodes that were played, by number.
#[derive(Default)]
struct Finished {
    episodes: BTreeMap<u64, Result<Trajectory, TrainingError>>,
    /// Of all of them together.
    steps: usize,
}

/// Plays episodes in `envs`, each in a thread of its own.
///
/// # Errors
/// [`TrainingError::Interrupted`] when that is asked for; [`TrainingError::NotFinite`] naming the first
/// observation or reward that is not finite; and when an environment fails or panics.
pub(crate) fn sample(
    envs: &mut [Box<dyn Env>],
    sampling: Sampling<'_>,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Vec<Trajectory>, TrainingError> {
    let board = Board {
        next: AtomicU64::new(0),
        needed: AtomicU64::new(u64::MAX),
        finished: Mutex::default(),
    };
    let work = |env: &mut Box<dyn Env>| {
        loop {
            let episode = board.next.fetch_add(1, Ordering::Relaxed);
            let wanted = || episode < board.needed.load(Ordering::Relaxed);
            if !wanted() {
                return;
            }
            let play = || play(&mut **env, sampling, episode, &wanted, interrupt);
            let played = catch_unwind(AssertUnwindSafe(play)).unwrap_or_else(|payload| {
                let message = panic_message(payload.as_ref());
                Err(TrainingError::trainee(ControllerError::Panicked { message }))
            });
            board.enter(episode, played, sampling.batch_size, progress);
        }
    };
    match envs {
        [env] => work(env),
        envs => thread::scope(|scope| {
            for env in envs {
                scope.spawn(|| work(env));
            }
        }),
    }
    let needed = board.needed.into_inner();
    let finished = board.finished.into_inner().unwrap_or_else(PoisonError::into_inner);
    let episodes = finished.episodes.into_iter();
    episodes.take_while(|(episode, _)| *episode < needed).map(|(_, played)| played).collect()
}

impl Board {
    /// Notes what became of an episode, and how many are needed as far as is known.
    fn enter(
        &self,
        episode: u64,
        played: Result<Trajectory, TrainingError>,
        batch_size: usize,
        progress: &dyn Progress,
    ) {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let steps_of = |played: &Result<Trajectory, TrainingError>| {
            played.as_ref().map_or(batch_size, |episode| episode.rewards.len())
        };
        finished.steps += steps_of(&played);
        finished.episodes.insert(episode, played);
        if finished.steps < batch_size {
            progress.note(&format!("{} of {batch_size} steps", finished.steps));
            return;
        }
        let mut steps = 0;
        // Episodes before it that are still being played can only lower the number that is needed.
        for (episode, played) in &finished.episodes {
            steps += steps_of(played);
            if steps >= batch_size {
                self.needed.store(episode + 1, Ordering::Relaxed);
                return;
            }
        }
    }
}

/// Plays an episode for as long as it is `wanted`.
fn play(
    env: &mut dyn Env,
    sampling: Sampling<'_>,
    episode: u64,
    wanted: &dyn Fn() -> bool,
    interrupt: &Interrupt,
) -> Result<Trajectory, TrainingError> {
    let Sampling { policy, parameters, limit, step: iteration, .. } = sampling;
    let failed = |error| TrainingError::trainee(ControllerError::Env(error));
    let seeds = derive_seed(sampling.seed, "iteration", iteration);
    let seed = TrackSet::Training.seed(seeds, episode);
    let mut random = Random::derived(seeds, "actions", episode);
    let space = &env.spec().observation_space;
    let mut observation = ObservationBuffer::zeros(space, 1);
    let mut taken = vec![0.0; env.spec().action_space.width()];
    let mut action = vec![0.0; policy.distribution().action_width()];
    let mut memory = Vec::new();
    let mut trajectory = Trajectory {
        observations: Vec::new(),
        actions: Vec::new(),
        rewards: Vec::new(),
        terminated: false,
    };
    let not_finite = |what: &str, step: u32| TrainingError::NotFinite {
        tensor: format!("{what} step {step} of the episode with seed {seed}"),
        step: iteration,
    };
    env.reset(Some(seed), observation.as_mut()).map_err(failed)?;
    let mut over = false;
    for step in 0.. {
        let ObservationBuffer::F32(seen) = &observation else {
            unreachable!("a policy is made for vectors");
        };
        if !seen.iter().all(|value| value.is_finite()) {
            return Err(not_finite("the observation after", step));
        }
        let begin = trajectory.observations.len();
        trajectory.observations.extend(seen.iter().map(|value| f64::from(*value)));
        if over || step == limit || !wanted() {
            break;
        }
        if interrupt.is_raised() {
            return Err(TrainingError::Interrupted);
        }
        let seen = &trajectory.observations[begin..];
        policy.act(parameters, seen, Some(&mut random), &mut action, &mut taken, &mut memory);
        let outcome = env.step(&taken, observation.as_mut()).map_err(failed)?;
        if !outcome.reward.is_finite() {
            return Err(not_finite("the reward of", step + 1));
        }
        trajectory.actions.extend_from_slice(&action);
        trajectory.rewards.push(outcome.reward);
        trajectory.terminated = outcome.terminated;
        over = outcome.done();
    }
    Ok(trajectory)
}
