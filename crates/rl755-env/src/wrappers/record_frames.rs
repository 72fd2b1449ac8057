//! Pictures of chosen episodes, for films.

use std::fmt;

use super::misfit;
use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Scene3d, Step};

/// A picture of a recorded episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFrame {
    /// Which episode of its environment, counted from 0 by resets.
    pub episode: u64,
    /// After how many of the episode's steps; 0 is after its reset.
    pub step: u32,
    /// Whether the episode ended here. One that is left by a reset has no such picture: the next
    /// picture is of another episode.
    pub last: bool,
    /// What [`Env::render`] gave.
    pub frame: RgbFrame,
}

/// Hands the pictures of every nth episode to a sink: those that Gymnasium's `RecordVideo` films
/// with `episode_trigger=lambda episode: episode % n == 0`. What becomes of them is the sink's
/// affair; this crate writes no files.
///
/// ```
/// use std::sync::mpsc;
/// use rl755_env::{EnvRegistry, ObservationBuffer, Env, EnvError, wrappers::RecordFrames};
///
/// let (sender, film) = mpsc::channel();
/// let sink = move |frame| {
///     let closed = |_| EnvError::Other { env: "film".to_owned(), message: "closed".to_owned() };
///     sender.send(frame).map_err(closed)
/// };
/// let env = EnvRegistry::with_builtin().make("CartPole-v1")?;
/// let mut env = RecordFrames::new(env, 10, sink)?; // episodes 0, 10, 20, …
/// # let _ = film;
/// # Ok::<(), rl755_env::EnvError>(())
/// ```
pub struct RecordFrames<E, S> {
    env: E,
    every: u64,
    sink: S,
    /// How many episodes were begun.
    episodes: u64,
    step: u32,
}

impl<E: Env, S> RecordFrames<E, S>
where
    S: FnMut(RecordedFrame) -> Result<(), EnvError> + Send,
{
    /// Hands the pictures of `env` in episodes 0, `every`, 2 × `every` and so on to `sink`.
    ///
    /// # Errors
    /// When `every` is 0.
    pub fn new(env: E, every: u64, sink: S) -> Result<Self, EnvError> {
        if every == 0 {
            return Err(misfit("RecordFrames", env.spec(), "there is no 0th episode"));
        }
        Ok(Self { env, every, sink, episodes: 0, step: 0 })
    }

    /// Whether the current episode is recorded.
    pub fn is_recording(&self) -> bool {
        self.episodes.checked_sub(1).is_some_and(|episode| episode % self.every == 0)
    }

    /// Hands the current picture to the sink, if the episode is chosen.
    fn record(&mut self, last: bool) -> Result<(), EnvError> {
        if !self.is_recording() {
            return Ok(());
        }
        let Some(frame) = self.env.render()? else {
            return Err(misfit("RecordFrames", self.env.spec(), "it draws no pictures"));
        };
        (self.sink)(RecordedFrame { episode: self.episodes - 1, step: self.step, last, frame })
    }

    /// The wrapped environment.
    pub fn env(&self) -> &E {
        &self.env
    }
}

/// A failing picture or sink fails the reset or the step, which has taken place all the same.
impl<E: Env, S> Env for RecordFrames<E, S>
where
    S: FnMut(RecordedFrame) -> Result<(), EnvError> + Send,
{
    fn spec(&self) -> &EnvSpec {
        self.env.spec()
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        self.env.reset(seed, observation)?;
        self.episodes += 1;
        self.step = 0;
        self.record(false)
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let step = self.env.step(action, observation)?;
        self.step += 1;
        self.record(step.done())?;
        Ok(step)
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.env.render()
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        self.env.scene()
    }
}

impl<E: fmt::Debug, S> fmt::Debug for RecordFrames<E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordFrames")
            .field("env", &self.env)
            .field("every", &self.every)
            .field("episodes", &self.episodes)
            .finish_non_exhaustive()
    }
}
