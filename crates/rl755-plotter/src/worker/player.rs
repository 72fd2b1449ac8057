//! Plays the newest policy of a run, episode after episode, for those who look.

use std::time::{Duration, Instant};

use rl755_env::{Env, EnvRegistry, ObservationBuffer};
use rl755_run::derive_seed;

use super::{
    orders::{Next, Orders},
    screen::Screen,
    trouble::{Trouble, catch},
};
use crate::{Actor, ActorFactory, Subject, ViewConfig, frame::Snapshot, server::Moment};

/// How long a step takes in an environment that does not tell.
const STEP_SECONDS: f64 = 0.05;
/// No step is shown for less or longer, at real speed.
const STEP_LIMITS: (f64, f64) = (1e-3, 1.0);
/// What does not work is tried again after this, or when there is news.
const TRY_AGAIN: Duration = Duration::from_secs(5);
/// A player that is too slow for its speed does not run after it for longer.
const LATEST: Duration = Duration::from_millis(100);

/// The player of one run.
pub(super) struct Player<'a> {
    envs: &'a EnvRegistry,
    actors: &'a dyn ActorFactory,
    orders: &'a Orders,
    frames_per_second: f64,
    max_episode_steps: u32,
    subject: Option<Subject>,
    snapshot: Option<Snapshot>,
    play: Option<Play>,
    /// Counts the episodes.
    episode: u32,
}

/// What is played by whom.
struct Play {
    env: Box<dyn Env>,
    actor: Box<dyn Actor>,
    observation: ObservationBuffer,
    action: Vec<f32>,
    screen: Screen,
    /// How long a step takes in reality.
    step_seconds: f64,
    /// Whether the actor has the parameters of the player's snapshot.
    loaded: bool,
}

impl<'a> Player<'a> {
    pub(super) fn new(
        envs: &'a EnvRegistry,
        actors: &'a dyn ActorFactory,
        orders: &'a Orders,
        view: &ViewConfig,
    ) -> Self {
        let frames_per_second = match view.frames_per_second {
            rate if rate.is_finite() => rate.clamp(1.0, 120.0),
            _ => ViewConfig::default().frames_per_second,
        };
        Self {
            envs,
            actors,
            orders,
            frames_per_second,
            max_episode_steps: view.max_episode_steps.unwrap_or(u32::MAX).max(1),
            subject: None,
            snapshot: None,
            play: None,
            episode: 0,
        }
    }

    /// Plays for ever. Trouble is shown on the page and told to `on_trouble`.
    pub(super) fn run(mut self, on_trouble: impl Fn(&str)) -> ! {
        loop {
            let ready = self.subject.is_some() && self.snapshot.is_some();
            self.take_news(ready);
            let played = catch(|| self.play_one());
            if let Err(trouble) = played {
                let trouble = trouble.to_string();
                on_trouble(&trouble);
                self.orders.tell(|status| status.trouble = Some(trouble));
                // Whatever state it is in, it is made anew.
                self.play = None;
                self.orders.wait_for_news(TRY_AGAIN);
            }
        }
    }

    /// Applies a new subject and a new snapshot, both if both came.
    fn take_news(&mut self, ready: bool) {
        let news = self.orders.wait_to_play(ready);
        if let Some(subject) = news.subject {
            if self.subject.as_ref().is_some_and(|before| !subject.goes_on_from(before)) {
                self.snapshot = None;
            }
            self.subject = Some(subject);
            self.play = None;
        }
        if let Some(snapshot) = news.snapshot {
            self.snapshot = Some(snapshot);
            if let Some(play) = &mut self.play {
                play.loaded = false;
            }
        }
        let shown = self.snapshot.as_ref().map(Into::into);
        self.orders.tell(|status| status.snapshot = shown);
    }

    /// Prepares what is to be played, and plays one episode if there is a policy.
    fn play_one(&mut self) -> Result<(), Trouble> {
        let Some(subject) = &self.subject else { return Ok(()) };
        let play = match &mut self.play {
            Some(play) => play,
            empty => empty.insert(Play::new(self.envs, self.actors, subject, self.orders)?),
        };
        let Some(snapshot) = &self.snapshot else { return Ok(()) };
        if !play.loaded {
            play.actor.load(&snapshot.parameters)?;
            play.loaded = true;
        }
        self.episode = self.episode.wrapping_add(1);
        let mut at = Moment { episode: self.episode, step: 0, episode_return: 0.0 };
        let seed = derive_seed(snapshot.step, "plotted episode", self.episode.into());
        play.env.reset(Some(seed), play.observation.as_mut())?;
        play.actor.begin(seed);
        let mut episode_return = 0.0;
        let mut due = Instant::now();
        loop {
            play.actor.act(play.observation.as_ref(), &mut play.action)?;
            play.screen.show(at, self.frames_per_second, &mut *play.env, Some(&mut *play.actor))?;
            let Next::Step { speed } = self.orders.wait_to_step(due) else { return Ok(()) };
            due = due.max(Instant::now().checked_sub(LATEST).unwrap_or(due))
                + Duration::from_secs_f64(play.step_seconds / speed);
            let step = play.env.step(&play.action, play.observation.as_mut())?;
            episode_return += step.reward;
            at.step += 1;
            if at.step == 1 {
                self.orders.tell(|status| status.trouble = None);
            }
            at.episode_return = episode_return as f32;
            if step.done() || at.step >= self.max_episode_steps {
                play.screen.show(at, f64::INFINITY, &mut *play.env, None)?;
                self.orders.episode_ended(snapshot.step, episode_return);
                return Ok(());
            }
        }
    }
}

impl Play {
    fn new(
        envs: &EnvRegistry,
        actors: &dyn ActorFactory,
        subject: &Subject,
        orders: &Orders,
    ) -> Result<Self, Trouble> {
        let env = envs.make(&subject.environment)?;
        let actor = actors.make(env.spec(), &subject.actor)?;
        let observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        let action = vec![0.0; env.spec().action_space.width()];
        let screen = Screen::new(orders.run().clone(), &subject.environment);
        let step_seconds = env.scene().map_or(STEP_SECONDS, |scene| scene.step_seconds());
        // `max` and `min` take a number rather than NaN.
        let step_seconds = step_seconds.max(STEP_LIMITS.0).min(STEP_LIMITS.1);
        Ok(Self { env, actor, observation, action, screen, step_seconds, loaded: false })
    }
}
