//! What one run's player is to do: of each kind the newest.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{news::News, series::Series};
use crate::{
    Subject, ViewConfig,
    frame::Snapshot,
    server::{self, Command, Curve, Run, Status},
};

/// Between those who bring news of a run, browsers that command it, and those who play it.
pub(super) struct Orders {
    run: Run,
    /// Whether a window shows it.
    window: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// What the player does not know yet.
    to_play: News,
    /// What the filmer does not know yet.
    to_film: News,
    status: Status,
    returns: Series,
}

/// Why a wait for the next step ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// It is time, at so many times real time.
    Step { speed: f64 },
    /// The episode is not to be played on.
    Stop,
}

impl Orders {
    /// For `run`, which nobody has commanded yet.
    pub(super) fn new(run: Run, view: &ViewConfig) -> Self {
        let speed = match view.speed_up {
            speed if speed.is_finite() => speed.clamp(0.1, 100.0),
            _ => ViewConfig::default().speed_up,
        };
        let max_episode_steps = view.max_episode_steps;
        let status = Status { speed, max_episode_steps, ..Status::default() };
        run.status(status.clone());
        let (to_play, to_film) = (News::default(), News::default());
        let state = State { to_play, to_film, status, returns: Series::default() };
        let window = AtomicBool::new(false);
        Self { run, window, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Where it is shown.
    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    /// Whether anybody looks.
    pub(super) fn is_watched(&self) -> bool {
        self.run.viewers() > 0 || self.window.load(Ordering::Relaxed)
    }

    /// Whether a window shows it from now on.
    pub(super) fn set_window(&self, window: bool) {
        self.window.store(window, Ordering::Relaxed);
        // Whoever waits looks whether there is one.
        self.change(|_| {});
    }

    /// Changes what is played.
    pub(super) fn put_subject(&self, subject: Subject) {
        self.change(|state| {
            state.to_play.put_subject(subject.clone());
            state.to_film.put_subject(subject);
        });
    }

    /// Changes the policy, from the next episode on.
    pub(super) fn put_snapshot(&self, snapshot: Snapshot) {
        let snapshot = Arc::new(snapshot);
        self.change(|state| {
            state.to_play.snapshot = Some(Arc::clone(&snapshot));
            state.to_film.snapshot = Some(snapshot);
        });
    }

    /// What a browser asks for.
    pub(super) fn command(&self, command: Command) {
        self.change(|state| match command {
            Command::Pause(paused) => state.status.paused = paused,
            Command::Speed(speed) => state.status.speed = speed,
            // Whoever waits looks how many there are.
            Command::Viewers(_) => {}
        });
    }

    /// Tells people how the run is doing.
    pub(super) fn tell(&self, change: impl FnOnce(&mut Status)) {
        self.change(|state| change(&mut state.status));
    }

    /// An episode of the policy of `step` returned so much.
    pub(super) fn episode_ended(&self, step: u64, episode_return: f64) {
        self.lock().returns.push(step as f64, episode_return);
    }

    /// The curve of what episodes returned.
    pub(super) fn returns(&self) -> Curve {
        self.lock().returns.curve("episode return")
    }

    /// Waits while nobody looks or there is nothing new. With `ready`, there is something to play
    /// already, so only for somebody to look.
    pub(super) fn wait_to_play(&self, ready: bool) -> News {
        let mut state = self.lock();
        loop {
            let some = ready || state.to_play.is_some();
            if some && self.is_watched() {
                return std::mem::take(&mut state.to_play);
            }
            state = self.wait(state);
        }
    }

    /// Waits for a policy that was not filmed yet; not if that before is to be filmed `again`.
    pub(super) fn wait_to_film(&self, again: bool) -> News {
        let mut state = self.lock();
        while !again && state.to_film.snapshot.is_none() {
            state = self.wait(state);
        }
        std::mem::take(&mut state.to_film)
    }

    /// Waits until news come, at most so long.
    pub(super) fn wait_for_news(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        while !state.to_play.is_some() {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return };
            state = self.wait_for(state, left);
        }
    }

    /// Waits until `due`, and while it is paused or nobody looks. A new subject ends the wait at
    /// once, and so does a new snapshot once somebody looks again.
    pub(super) fn wait_to_step(&self, due: Instant) -> Next {
        let mut state = self.lock();
        let mut unwatched = false;
        loop {
            let watched = self.is_watched();
            unwatched |= !watched;
            let News { subject, snapshot } = &state.to_play;
            if subject.is_some() || unwatched && watched && snapshot.is_some() {
                return Next::Stop;
            }
            if !watched || state.status.paused {
                state = self.wait(state);
                continue;
            }
            let Some(left) = due.checked_duration_since(Instant::now()).filter(|d| !d.is_zero())
            else {
                return Next::Step { speed: state.status.speed };
            };
            state = self.wait_for(state, left);
        }
    }

    /// Everybody sees one change after the other, browsers too.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        let before = state.status.clone();
        change(&mut state);
        if state.status != before {
            self.run.status(state.status.clone());
        }
        drop(state);
        self.changed.notify_all();
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<'a>(&self, state: MutexGuard<'a, State>, limit: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // All that is done with the lock leaves it sound, wherever it stops.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As the page shows it.
impl From<&Snapshot> for server::Snapshot {
    fn from(snapshot: &Snapshot) -> Self {
        Self { step: snapshot.step, made: snapshot.made }
    }
}
