//! What a stage works with, whatever its config.

use rl755_env::EnvRegistry;
use rl755_run::{Interrupt, Progress, Spectator};

use crate::ControllerRegistry;

/// How the work is spread over the machine. The results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Environments stepped together. More make better use of the models and take more memory.
    /// Default 32.
    pub batch: usize,
    /// CPU threads that step environments. Default 1.
    pub threads: usize,
    /// Parts of the batch that go through encoding, acting and stepping on their own, each with
    /// its share of the threads. As many as threads is best on CPUs; with a GPU, 2 keep it busy
    /// while environments step. 0 takes as many as threads. Default 0.
    pub groups: usize,
}

impl Default for Resources {
    fn default() -> Self {
        Self { batch: 32, threads: 1, groups: 0 }
    }
}

/// What training and evaluating know and report to.
#[derive(Clone, Copy)]
pub struct StageContext<'a> {
    /// Environments by id.
    pub environments: &'a EnvRegistry,
    /// Controllers by name.
    pub controllers: &'a ControllerRegistry,
    /// How the work is spread.
    pub resources: Resources,
    /// Where it reports.
    pub progress: &'a dyn Progress,
    /// Whether to save and stop.
    pub interrupt: &'a Interrupt,
    /// Who is shown the policy in training.
    pub spectator: &'a dyn Spectator,
}
