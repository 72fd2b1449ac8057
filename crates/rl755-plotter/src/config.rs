//! What a plotter is told: how its worker is started, and what is shown where.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    sync::Arc,
};

use rl755_run::SettingError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Event;

/// The first argument of a program that is to call [`worker_main`](crate::worker_main).
pub const WORKER_ARGUMENT: &str = "plot-worker";

/// How a [`Plotter`](crate::Plotter) works.
#[derive(Clone)]
pub struct PlotterConfig {
    /// The worker's program.
    pub worker: WorkerCommand,
    /// The directory of the run, whose `metrics.jsonl` gives the curves, and in whose `plotter.log`
    /// is what the worker writes to its standard error.
    pub run_dir: Option<PathBuf>,
    /// What is shown, and where.
    pub view: ViewConfig,
    /// Is told what becomes of the worker, from a thread of the plotter.
    pub on_event: Arc<dyn Fn(Event) + Send + Sync>,
}

impl Default for PlotterConfig {
    /// This program as worker, the default view, and nobody is told.
    fn default() -> Self {
        Self {
            worker: WorkerCommand::default(),
            run_dir: None,
            view: ViewConfig::default(),
            on_event: Arc::new(|_| {}),
        }
    }
}

impl fmt::Debug for PlotterConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlotterConfig")
            .field("worker", &self.worker)
            .field("run_dir", &self.run_dir)
            .field("view", &self.view)
            .finish_non_exhaustive()
    }
}

/// A program that calls [`worker_main`](crate::worker_main), and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Default for WorkerCommand {
    /// This program, with [`WORKER_ARGUMENT`].
    fn default() -> Self {
        // On Linux this is the program that runs, even where its file was replaced since.
        let program = match std::env::consts::OS {
            "linux" => PathBuf::from("/proc/self/exe"),
            // Where it cannot be found, starting it fails, which is an event.
            _ => std::env::current_exe().unwrap_or_default(),
        };
        Self { program, arguments: vec![WORKER_ARGUMENT.into()] }
    }
}

/// What is shown, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ViewConfig {
    /// The address that the page is served at. Default: 127.0.0.1, which other machines do not
    /// reach.
    pub address: IpAddr,
    /// The port of the page. Default: 0, which is 6755 or the next free one.
    pub port: u16,
    /// What a browser must know to be let in. Default: none on a loopback address, else a random
    /// one, which is part of the page's address.
    pub token: Option<String>,
    /// Directories of other runs that are shown on the same page. Default: none.
    pub runs: Vec<PathBuf>,
    /// Steps after which an episode ends, if its environment does not end it earlier.
    pub max_episode_steps: Option<u32>,
    /// How many times as fast as real time episodes are played, 0.1 to 100. Default: 5.
    pub speed_up: f64,
    /// Pictures a second, 1 to 120. Default: 30.
    pub frames_per_second: f64,
    /// Whether there is a page. Default: yes.
    pub page: bool,
    /// Whether a window shows the first run as well, as
    /// [`ActorFactory::show_window`](crate::ActorFactory::show_window) does. Default: no.
    pub window: bool,
    /// A WebM file with an episode of the first run's newest policy, replaced whenever there is a
    /// newer one. Default: none.
    pub video: Option<PathBuf>,
}

impl Default for ViewConfig {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            token: None,
            runs: Vec::new(),
            max_episode_steps: None,
            speed_up: 5.0,
            frames_per_second: 30.0,
            page: true,
            window: false,
            video: None,
        }
    }
}

impl ViewConfig {
    /// Rejects settings that cannot be worked with. A plotter that is given such settings does not
    /// fail, it uses the nearest that can.
    ///
    /// # Errors
    /// Naming the first of them.
    pub fn check(&self) -> Result<(), SettingError> {
        if !(0.1..=100.0).contains(&self.speed_up) {
            return Err(SettingError::new("speed_up", self.speed_up, "from 0.1 to 100"));
        }
        if !(1.0..=120.0).contains(&self.frames_per_second) {
            let rate = self.frames_per_second;
            return Err(SettingError::new("frames_per_second", rate, "from 1 to 120"));
        }
        match self.max_episode_steps {
            Some(0) => Err(SettingError::new("max_episode_steps", 0, "at least 1")),
            _ => Ok(()),
        }
    }

    /// Steps after which an episode ends, whatever its environment says.
    pub(crate) fn max_episode_steps(&self) -> u32 {
        self.max_episode_steps.unwrap_or(u32::MAX).max(1)
    }
}

/// What is played: an environment, and who acts in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The environment's id, with its options.
    pub environment: String,
    /// From what the worker's [`ActorFactory`](crate::ActorFactory) makes the actor.
    pub actor: Value,
    /// How many parameters a snapshot of it has.
    pub parameters: usize,
}

impl Subject {
    /// Whether snapshots of `before` are snapshots of this, too: only the environment changed.
    pub(crate) fn goes_on_from(&self, before: &Self) -> bool {
        self.actor == before.actor && self.parameters == before.parameters
    }
}
