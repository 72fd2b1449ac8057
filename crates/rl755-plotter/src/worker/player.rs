//! Plays the newest policy of a run, episode after episode, for those who look.

use std::time::{Duration, Instant};

use rl755_env::EnvRegistry;
use rl755_run::derive_seed;
use rl755_video::step_seconds;

use super::{
    news::News,
    orders::{Next, Orders},
    play::Play,
    screen::Screen,
    trouble::{Trouble, catch},
    window::Stage,
};
use crate::{ActorFactory, Subject, ViewConfig, server::Moment};

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
    window: Option<Stage>,
    known: News,
    shown: Option<Shown>,
    /// Counts the episodes.
    episode: u32,
}

/// What is played, and where it is seen.
struct Shown {
    play: Play,
    screen: Screen,
    /// How long a step takes in reality.
    step_seconds: f64,
}

impl<'a> Player<'a> {
    pub(super) fn new(
        envs: &'a EnvRegistry,
        actors: &'a dyn ActorFactory,
        orders: &'a Orders,
        view: &ViewConfig,
        window: Option<Stage>,
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
            max_episode_steps: view.max_episode_steps(),
            window,
            known: News::default(),
            shown: None,
            episode: 0,
        }
    }

    /// Plays for ever. Trouble is shown on the page and told to `on_trouble`.
    pub(super) fn run(mut self, mut on_trouble: impl FnMut(&str)) -> ! {
        loop {
            let ready = self.known.subject.is_some() && self.known.snapshot.is_some();
            self.take_news(ready);
            let played = catch(|| self.play_one());
            if let Err(trouble) = played {
                let trouble = trouble.to_string();
                on_trouble(&trouble);
                self.orders.tell(|status| status.trouble = Some(trouble));
                // Whatever state it is in, it is made anew.
                self.shown = None;
                self.orders.wait_for_news(TRY_AGAIN);
            }
        }
    }

    /// Applies a new subject and a new snapshot, both if both came.
    fn take_news(&mut self, ready: bool) {
        if self.known.update(self.orders.wait_to_play(ready)) {
            self.shown = None;
        }
        let shown = self.known.snapshot.as_deref().map(Into::into);
        self.orders.tell(|status| status.snapshot = shown);
    }

    /// Prepares what is to be played, and plays one episode if there is a policy.
    fn play_one(&mut self) -> Result<(), Trouble> {
        let Some(subject) = &self.known.subject else { return Ok(()) };
        let Shown { play, screen, step_seconds } = match &mut self.shown {
            Some(shown) => shown,
            empty => empty.insert(Shown::new(self.envs, self.actors, subject, self.orders)?),
        };
        let Some(snapshot) = &self.known.snapshot else { return Ok(()) };
        self.episode = self.episode.wrapping_add(1);
        let mut at = Moment { episode: self.episode, step: 0, episode_return: 0.0 };
        let seed = derive_seed(snapshot.step, "plotted episode", self.episode.into());
        play.begin(snapshot, seed)?;
        let mut episode_return = 0.0;
        let mut due = Instant::now();
        loop {
            play.act()?;
            screen.show(at, self.frames_per_second, &mut *play.env, Some(&mut *play.actor))?;
            if let Some(window) = &mut self.window {
                window.show(&subject.environment, &*play.env);
            }
            let Next::Step { speed } = self.orders.wait_to_step(due) else { return Ok(()) };
            due = due.max(Instant::now().checked_sub(LATEST).unwrap_or(due))
                + Duration::from_secs_f64(*step_seconds / speed);
            let step = play.step()?;
            episode_return += step.reward;
            at.step += 1;
            if at.step == 1 {
                self.orders.tell(|status| status.trouble = None);
            }
            at.episode_return = episode_return as f32;
            if step.done() || at.step >= self.max_episode_steps {
                screen.show(at, f64::INFINITY, &mut *play.env, None)?;
                self.orders.episode_ended(snapshot.step, episode_return);
                // The end is seen as long as what was before it.
                self.orders.wait_to_step(due);
                return Ok(());
            }
        }
    }
}

impl Shown {
    fn new(
        envs: &EnvRegistry,
        actors: &dyn ActorFactory,
        subject: &Subject,
        orders: &Orders,
    ) -> Result<Self, Trouble> {
        let play = Play::new(envs, actors, subject)?;
        let screen = Screen::new(orders.run().clone(), &subject.environment);
        let step_seconds = step_seconds(&*play.env);
        Ok(Self { play, screen, step_seconds })
    }
}
