//! What one run's player is to do: of each kind the newest.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::series::Series;
use crate::{
    Subject, ViewConfig,
    frame::Snapshot,
    server::{self, Command, Curve, Run, Status},
};

/// Between those who bring news of a run, browsers that command it, and the player that plays it.
pub(super) struct Orders {
    run: Run,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    subject: Option<Subject>,
    snapshot: Option<Snapshot>,
    status: Status,
    returns: Series,
}

/// What the player takes all at once; the subject comes first.
#[derive(Default)]
pub(super) struct News {
    pub(super) subject: Option<Subject>,
    pub(super) snapshot: Option<Snapshot>,
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
        let state = State { subject: None, snapshot: None, status, returns: Series::default() };
        Self { run, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Where it is shown.
    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    /// Whether anybody looks.
    pub(super) fn is_watched(&self) -> bool {
        self.run.viewers() > 0
    }

    /// Changes what is played. A snapshot that nobody took goes with the old subject, unless only
    /// the environment changed.
    pub(super) fn put_subject(&self, subject: Subject) {
        self.change(|state| {
            if state.subject.as_ref().is_some_and(|before| !subject.goes_on_from(before)) {
                state.snapshot = None;
            }
            state.subject = Some(subject);
        });
    }

    /// Changes the policy, from the next episode on.
    pub(super) fn put_snapshot(&self, snapshot: Snapshot) {
        self.change(|state| state.snapshot = Some(snapshot));
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
            let some = ready || state.subject.is_some() || state.snapshot.is_some();
            if some && self.is_watched() {
                return News { subject: state.subject.take(), snapshot: state.snapshot.take() };
            }
            state = self.wait(state);
        }
    }

    /// Waits until news come, at most so long.
    pub(super) fn wait_for_news(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        while state.subject.is_none() && state.snapshot.is_none() {
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
            if state.subject.is_some() || unwatched && watched && state.snapshot.is_some() {
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
