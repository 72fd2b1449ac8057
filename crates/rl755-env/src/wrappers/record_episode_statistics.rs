//! What each episode amounted to.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Scene3d, Step};

/// What one episode amounted to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpisodeStatistics {
    /// The sum of its rewards; Gymnasium's `r`.
    pub episode_return: f64,
    /// Its number of steps; Gymnasium's `l`.
    pub length: u32,
    /// The time from the end of its reset to the end of its last step; Gymnasium's `t`.
    pub elapsed: Duration,
}

/// Adds up each episode's rewards, steps and time, as Gymnasium's wrapper of that name does.
///
/// [`last_episode`](Self::last_episode) has them after an episode's end. Where the wrapper itself is
/// out of reach, as within a [`VectorEnv`](crate::VectorEnv), a report hands them out:
///
/// ```
/// use std::sync::mpsc;
/// use rl755_env::{CartPole, VectorEnv, Env, wrappers::RecordEpisodeStatistics};
///
/// let (sender, episodes) = mpsc::channel();
/// let recorded = |index: usize| {
///     let sender = sender.clone();
///     // Nobody may be listening any more; that is no reason to stop.
///     let report = move |episode: &_| drop(sender.send((index, *episode)));
///     Box::new(RecordEpisodeStatistics::new(CartPole::new()).reporting_to(report)) as Box<dyn Env>
/// };
/// let mut envs = VectorEnv::new((0..2).map(recorded).collect(), 1)?;
/// envs.reset_all(&[1, 2])?;
/// while envs.live().contains(&true) {
///     envs.step(&[0.0, 0.0], &[true, true])?;
/// }
/// assert_eq!(episodes.try_iter().count(), 2);
/// # Ok::<(), rl755_env::EnvError>(())
/// ```
pub struct RecordEpisodeStatistics<E> {
    env: E,
    started: Instant,
    episode_return: f64,
    length: u32,
    episode_count: u64,
    last_episode: Option<EpisodeStatistics>,
    report: Option<Report>,
}

type Report = Box<dyn FnMut(&EpisodeStatistics) + Send>;

impl<E: Env> RecordEpisodeStatistics<E> {
    /// Records the episodes of `env`.
    pub fn new(env: E) -> Self {
        Self {
            env,
            started: Instant::now(),
            episode_return: 0.0,
            length: 0,
            episode_count: 0,
            last_episode: None,
            report: None,
        }
    }

    /// Calls `report` at each episode's end.
    #[must_use]
    pub fn reporting_to(self, report: impl FnMut(&EpisodeStatistics) + Send + 'static) -> Self {
        Self { report: Some(Box::new(report)), ..self }
    }

    /// The episode that ended last; none before the first end. Episodes that were left for another
    /// by a reset are not recorded.
    pub fn last_episode(&self) -> Option<EpisodeStatistics> {
        self.last_episode
    }

    /// How many episodes ended.
    pub fn episode_count(&self) -> u64 {
        self.episode_count
    }

    /// The wrapped environment.
    pub fn env(&self) -> &E {
        &self.env
    }
}

impl<E: Env> Env for RecordEpisodeStatistics<E> {
    fn spec(&self) -> &EnvSpec {
        self.env.spec()
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        self.env.reset(seed, observation)?;
        (self.episode_return, self.length) = (0.0, 0);
        self.started = Instant::now();
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let step = self.env.step(action, observation)?;
        self.episode_return += step.reward;
        self.length += 1;
        if step.done() {
            let episode = EpisodeStatistics {
                episode_return: self.episode_return,
                length: self.length,
                elapsed: self.started.elapsed(),
            };
            self.episode_count += 1;
            self.last_episode = Some(episode);
            if let Some(report) = &mut self.report {
                report(&episode);
            }
        }
        Ok(step)
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.env.render()
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        self.env.scene()
    }
}

impl<E: fmt::Debug> fmt::Debug for RecordEpisodeStatistics<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordEpisodeStatistics")
            .field("env", &self.env)
            .field("episode_count", &self.episode_count)
            .field("last_episode", &self.last_episode)
            .finish_non_exhaustive()
    }
}
