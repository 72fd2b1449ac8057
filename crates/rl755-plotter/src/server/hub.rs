//! What browsers are shown: the newest of each kind for each run, and nothing older.
//!
//! Whatever is put here gets the next stamp, and a browser's socket takes what has a later stamp
//! than it has seen. So a slow browser skips what it was too slow for.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use rl755_env::Scene;
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::Bytes;

use super::message;

/// What a browser asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Command {
    /// To stand still, or to go on.
    Pause(bool),
    /// To play so many times as fast as in reality, 0.1 to 100.
    Speed(f64),
    /// Not asked, but so: this many browsers look at the run now.
    Viewers(usize),
}

/// What a run plays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// The environment's id.
    pub(crate) environment: String,
    /// What is drawn in three dimensions, if it can be.
    pub(crate) scene: Option<Scene>,
    /// The names of the pictures that are shown in a row.
    pub(crate) views: Vec<String>,
}

/// The time of a pose or a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moment {
    /// Counts the episodes that were played.
    pub(crate) episode: u32,
    /// Of the episode.
    pub(crate) step: u32,
    /// The sum of the rewards until now.
    pub(crate) episode_return: f32,
}

/// How a run is doing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Status {
    /// The policy that plays; none before the first one came.
    pub(crate) snapshot: Option<Snapshot>,
    /// Whether the playing stands still.
    pub(crate) paused: bool,
    /// How many times as fast as in reality it is meant to play.
    pub(crate) speed: f64,
    /// Whether the training has ended.
    pub(crate) finished: bool,
    /// After how many steps an episode is cut.
    pub(crate) max_episode_steps: Option<u32>,
    /// What does not work, for people.
    pub(crate) trouble: Option<String>,
}

/// Which policy plays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Snapshot {
    /// The step of the training that it is from.
    pub(crate) step: u64,
    /// When it was made.
    pub(crate) made: SystemTime,
}

/// A metric over the steps of a training.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curve {
    /// What is before a `/` in it is the group that it is shown in.
    pub(crate) name: String,
    /// The steps, ascending.
    pub(crate) x: Vec<f64>,
    /// A value for each; one that is not finite leaves a gap.
    pub(crate) y: Vec<f64>,
}

/// When something was put into the hub; later is greater, and 0 is before everything.
pub(super) type Stamp = u64;

/// The newest of a kind.
pub(super) struct Newest<T> {
    pub(super) stamp: Stamp,
    pub(super) value: T,
}

/// A run as browsers see it.
#[derive(Default)]
pub(super) struct RunShown {
    pub(super) name: String,
    pub(super) added: Stamp,
    pub(super) shown: Option<Newest<Arc<str>>>,
    pub(super) poses: Option<Newest<Bytes>>,
    pub(super) frames: Vec<Option<Newest<Bytes>>>,
    pub(super) status: Option<Newest<Status>>,
    pub(super) curves: Option<Newest<Arc<[Arc<Curve>]>>>,
    viewers: Arc<AtomicUsize>,
}

/// All runs.
pub(super) struct Hub {
    runs: Mutex<Vec<RunShown>>,
    stamp: watch::Sender<Stamp>,
    on_command: Box<dyn Fn(usize, Command) + Send + Sync>,
}

impl Hub {
    pub(super) fn new(on_command: impl Fn(usize, Command) + Send + Sync + 'static) -> Self {
        Self {
            runs: Mutex::default(),
            stamp: watch::Sender::new(0),
            on_command: Box::new(on_command),
        }
    }

    pub(super) fn add_run(hub: &Arc<Self>, name: &str) -> Run {
        let viewers = Arc::new(AtomicUsize::new(0));
        let index = hub.change(|runs, added| {
            let (name, viewers) = (name.to_owned(), Arc::clone(&viewers));
            runs.push(RunShown { name, added, viewers, ..RunShown::default() });
            runs.len() - 1
        });
        Run { hub: Arc::clone(hub), index, viewers }
    }

    /// Tells when something new is there.
    pub(super) fn subscribe(&self) -> watch::Receiver<Stamp> {
        self.stamp.subscribe()
    }

    /// What there is; to be let go at once.
    pub(super) fn runs(&self) -> MutexGuard<'_, Vec<RunShown>> {
        // Nothing that may panic is done with it, and all of its states are sound.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes on what a browser asks for.
    pub(super) fn command(&self, run: usize, command: Command) {
        (self.on_command)(run, command);
    }

    /// Counts a browser that looks at a run until the answer is dropped.
    pub(super) fn view(self: &Arc<Self>, run: usize) -> Option<Viewing> {
        let count = Arc::clone(&self.runs().get(run)?.viewers);
        let viewing = Viewing { hub: Arc::clone(self), run, count };
        let viewers = viewing.count.fetch_add(1, Ordering::Relaxed) + 1;
        self.command(run, Command::Viewers(viewers));
        Some(viewing)
    }

    /// Changes what there is with the next stamp, and wakes the sockets.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<RunShown>, Stamp) -> T) -> T {
        let mut runs = self.runs();
        let stamp = *self.stamp.borrow() + 1;
        let changed = change(&mut runs, stamp);
        // Before the lock is let go, so that a stamp means that what has it is there.
        self.stamp.send_replace(stamp);
        changed
    }
}

/// A browser that looks at a run.
pub(super) struct Viewing {
    hub: Arc<Hub>,
    run: usize,
    count: Arc<AtomicUsize>,
}

impl Viewing {
    pub(super) fn run(&self) -> usize {
        self.run
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        let viewers = self.count.fetch_sub(1, Ordering::Relaxed) - 1;
        self.hub.command(self.run, Command::Viewers(viewers));
    }
}

/// Where the worker puts what a run shows. None of it waits for a browser.
#[derive(Clone)]
pub(crate) struct Run {
    hub: Arc<Hub>,
    index: usize,
    viewers: Arc<AtomicUsize>,
}

impl Run {
    /// How many browsers look at it.
    pub(crate) fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }

    /// Shows another environment; what was seen of the one before is forgotten.
    pub(crate) fn show(&self, shown: &Shown) {
        let value = message::shown(self.index, shown);
        self.change(|run, stamp| {
            run.poses = None;
            run.frames = shown.views.iter().map(|_| None).collect();
            run.shown = Some(Newest { stamp, value });
        });
    }

    /// Shows where the geoms of the scene are.
    pub(crate) fn poses(&self, at: Moment, poses: &[[f32; 7]]) {
        let value = message::poses(self.index, at, poses);
        self.change(|run, stamp| run.poses = Some(Newest { stamp, value }));
    }

    /// Shows a picture, as WebP or PNG, in the view with this index.
    pub(crate) fn frame(&self, at: Moment, view: usize, picture: &[u8]) {
        let value = message::frame(self.index, view, at, picture);
        self.change(|run, stamp| {
            if let Some(frame) = run.frames.get_mut(view) {
                *frame = Some(Newest { stamp, value });
            }
        });
    }

    /// Tells how the run is doing.
    pub(crate) fn status(&self, value: Status) {
        self.change(|run, stamp| run.status = Some(Newest { stamp, value }));
    }

    /// Replaces all curves.
    pub(crate) fn curves(&self, curves: Vec<Curve>) {
        let value = curves.into_iter().map(Arc::new).collect();
        self.change(|run, stamp| run.curves = Some(Newest { stamp, value }));
    }

    fn change(&self, change: impl FnOnce(&mut RunShown, Stamp)) {
        self.hub.change(|runs, stamp| {
            if let Some(run) = runs.get_mut(self.index) {
                change(run, stamp);
            }
        });
    }
}
