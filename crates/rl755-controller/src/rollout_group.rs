//! One group of environments playing episodes in step.

use ndarray::{Array2, ArrayView2};
use rl755_env::{ObservationBuffer, VectorEnv};
use rl755_sequence::Session;

use crate::{
    Controller, ControllerError, Episode, EpisodeEnd, EpisodeLimits, EpisodeTask, WorldModel,
    rollouts::{TaskQueue, Watch},
};

/// What all groups share.
type Setting<'a> = (&'a WorldModel, &'a dyn Controller, EpisodeLimits);

/// Environments with the models' memory of their episodes.
pub(crate) struct RolloutGroup<'a> {
    envs: &'a mut VectorEnv,
    setting: Setting<'a>,
    queue: &'a TaskQueue<'a>,
    session: Option<Box<dyn Session + 'a>>,
    /// Episodes in progress: row i of every array belongs to `rows[i]`.
    rows: Vec<Row<'a>>,
    /// Observations of the rows, one after another.
    observations: ObservationBuffer,
    watch: Option<&'a mut Watch<'a>>,
}

/// An episode in progress.
struct Row<'a> {
    task: usize,
    parameters: &'a [f32],
    /// Which environment it is played in.
    env: usize,
    episode: Episode,
    /// Steps since the last positive reward.
    unrewarded: u32,
    over: bool,
}

impl<'a> RolloutGroup<'a> {
    pub(crate) fn new(
        envs: &'a mut VectorEnv,
        setting: Setting<'a>,
        queue: &'a TaskQueue<'a>,
    ) -> Self {
        let observations = ObservationBuffer::zeros(&envs.spec().observation_space, 0);
        Self { envs, setting, queue, session: None, rows: Vec::new(), observations, watch: None }
    }

    /// Shows every state of the first row to `watch`.
    pub(crate) fn watched(mut self, watch: &'a mut Watch<'a>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Plays episodes until no task is left, or the queue is stopped.
    pub(crate) fn play(
        mut self,
        done: &mut dyn FnMut(usize, Episode),
    ) -> Result<(), ControllerError> {
        self.fill()?;
        while !self.rows.is_empty() && !self.queue.is_stopped() {
            self.step()?;
            self.turn_over(done)?;
        }
        Ok(())
    }

    /// Begins an episode in each environment, while there are tasks.
    fn fill(&mut self) -> Result<(), ControllerError> {
        while self.rows.len() < self.envs.len()
            && let Some((task, row)) = self.queue.take()
        {
            let env = self.rows.len();
            let row = Row::new(task, row, env);
            self.envs.reset_at(env, Some(row.episode.seed))?;
            self.rows.push(row);
        }
        let (world_model, ..) = self.setting;
        let sequence = world_model.sequence.as_ref();
        self.session = sequence.map(|s| s.model.session(self.rows.len()));
        Ok(())
    }

    /// Encodes, acts and steps all rows.
    fn step(&mut self) -> Result<(), ControllerError> {
        let (world_model, controller, _) = self.setting;
        self.gather();
        self.show(0)?;
        let latents = world_model.encoder.model.encode(self.observations.as_ref())?.mean;
        let width = self.envs.spec().action_space.width();
        let mut actions = Array2::zeros((self.rows.len(), width)); // [row, action]
        let parameters: Vec<&[f32]> = self.rows.iter().map(|row| row.parameters).collect();
        let nothing = Array2::zeros((self.rows.len(), 0));
        let hidden = self.session.as_ref().map_or(nothing.view(), |session| session.hidden());
        controller.act(&parameters, latents.view(), hidden, actions.view_mut());
        if let Some(session) = &mut self.session {
            session.step(latents.view(), actions.view())?;
        }
        self.step_environments(actions.view())
    }

    fn step_environments(&mut self, actions: ArrayView2<'_, f32>) -> Result<(), ControllerError> {
        let width = actions.ncols();
        let mut all = vec![0.0; self.envs.len() * width]; // [environment, action]
        let mut active = vec![false; self.envs.len()];
        for (row, action) in self.rows.iter().zip(actions.rows()) {
            active[row.env] = true;
            let target = &mut all[row.env * width..(row.env + 1) * width];
            target.iter_mut().zip(action).for_each(|(to, from)| *to = *from);
        }
        let steps = self.envs.step(&all, &active)?;
        let (.., limits) = self.setting;
        for row in &mut self.rows {
            let env = row.env;
            row.take_in(steps.rewards[env], (steps.terminated[env], steps.truncated[env]), limits);
        }
        Ok(())
    }

    /// Copies the rows' observations one after another.
    fn gather(&mut self) {
        let width = self.envs.spec().observation_space.width();
        match (&mut self.observations, self.envs.observations()) {
            (ObservationBuffer::U8(to), ObservationBuffer::U8(from)) => {
                copy_rows(to, from, width, &self.rows);
            }
            (ObservationBuffer::F32(to), ObservationBuffer::F32(from)) => {
                copy_rows(to, from, width, &self.rows);
            }
            // Both are made from the same space.
            _ => unreachable!("observations of one space have one element type"),
        }
    }

    /// Shows the state of `env` to the watcher, if there is one.
    fn show(&mut self, env: usize) -> Result<(), ControllerError> {
        if let Some(watch) = &mut self.watch {
            let picture = self.envs.render_at(env)?;
            watch(picture, self.envs.observation(env));
        }
        Ok(())
    }

    /// Hands in the episodes that are over, and begins others or gives up their rows.
    fn turn_over(&mut self, done: &mut dyn FnMut(usize, Episode)) -> Result<(), ControllerError> {
        let mut kept = Vec::with_capacity(self.rows.len());
        for index in 0..self.rows.len() {
            if !self.rows[index].over {
                kept.push(index);
                continue;
            }
            let row = &self.rows[index];
            let env = row.env;
            done(row.task, row.episode.clone());
            self.show(env)?;
            let Some((task, next)) = self.queue.take() else { continue };
            self.rows[index] = Row::new(task, next, env);
            self.envs.reset_at(env, Some(next.seed))?;
            if let Some(session) = &mut self.session {
                session.reset_row(index);
            }
            kept.push(index);
        }
        if kept.len() < self.rows.len() {
            let mut index = 0;
            self.rows.retain(|_| {
                index += 1;
                kept.binary_search(&(index - 1)).is_ok()
            });
            if let Some(session) = &mut self.session
                && !kept.is_empty()
            {
                session.select(&kept);
            }
        }
        Ok(())
    }
}

impl<'a> Row<'a> {
    fn new(task: usize, EpisodeTask { parameters, seed }: EpisodeTask<'a>, env: usize) -> Self {
        let episode = Episode { seed, score: 0.0, steps: 0, end: EpisodeEnd::Truncated };
        Self { task, parameters, env, episode, unrewarded: 0, over: false }
    }

    fn take_in(
        &mut self,
        reward: f64,
        (terminated, truncated): (bool, bool),
        limits: EpisodeLimits,
    ) {
        self.episode.score += reward;
        self.episode.steps += 1;
        self.unrewarded = if reward > 0.0 { 0 } else { self.unrewarded + 1 };
        let end = if terminated {
            EpisodeEnd::Terminated
        } else if truncated {
            EpisodeEnd::Truncated
        } else if limits.horizon.is_some_and(|limit| self.episode.steps >= limit) {
            EpisodeEnd::Horizon
        } else if limits.patience_steps.is_some_and(|limit| self.unrewarded >= limit) {
            EpisodeEnd::OutOfPatience
        } else {
            return;
        };
        self.episode.end = end;
        self.over = true;
    }
}

fn copy_rows<T: Copy>(to: &mut Vec<T>, from: &[T], width: usize, rows: &[Row<'_>]) {
    to.clear();
    for row in rows {
        to.extend_from_slice(&from[row.env * width..(row.env + 1) * width]);
    }
}
