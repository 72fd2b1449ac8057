//! One of the environments stepped together.

use super::AutoresetMode;
use crate::{Env, EnvError, EnvSpec, ObservationBuffer, ObservationMut, ObservationRef, Step};

/// An environment, what is asked of it and what it last reported.
pub(super) struct Slot {
    pub(super) env: Box<dyn Env>,
    /// For the reset under way.
    pub(super) seed: Option<u64>,
    /// What the latest step gave; done until a reset follows.
    pub(super) step: Step,
    /// Whether it is in an episode: reset, and not done since.
    pub(super) live: bool,
    pub(super) error: Option<EnvError>,
    /// Whether the step under way is for it.
    active: bool,
    /// Where the last observation of an episode is kept when the next one begins in the same step.
    final_observation: Option<ObservationBuffer>,
    /// Whether that of the latest step is kept there.
    has_final_observation: bool,
}

impl Slot {
    pub(super) fn new(env: Box<dyn Env>) -> Self {
        Self {
            env,
            seed: None,
            step: Step::default(),
            live: false,
            error: None,
            active: false,
            final_observation: None,
            has_final_observation: false,
        }
    }

    /// Takes the memory that `mode` needs.
    pub(super) fn make_room(&mut self, mode: AutoresetMode, spec: &EnvSpec) {
        self.final_observation = (mode == AutoresetMode::SameStep)
            .then(|| ObservationBuffer::zeros(&spec.observation_space, 1));
        self.has_final_observation = false;
    }

    /// The last observation of the episode that ended in the latest step, if another began in it.
    pub(super) fn final_observation(&self) -> Option<ObservationRef<'_>> {
        let kept = self.final_observation.as_ref().filter(|_| self.has_final_observation);
        kept.map(ObservationBuffer::as_ref)
    }

    pub(super) fn reset(&mut self, seed: Option<u64>, observation: ObservationMut<'_>) {
        self.step = Step::default();
        self.has_final_observation = false;
        self.error = self.env.reset(seed, observation).err();
        self.live = self.error.is_none();
    }

    /// Forgets the step before, and decides whether the coming one is for this environment.
    pub(super) fn prepare(&mut self, active: bool, mode: AutoresetMode) {
        // A failed environment and one that was never reset are not done: they wait for a reset.
        let begins_anew = mode == AutoresetMode::NextStep && self.step.done();
        self.active = active && (self.live || begins_anew);
        self.step.reward = 0.0;
        if self.live {
            self.step = Step::default();
        }
        self.has_final_observation = false;
        self.error = None;
    }

    /// Steps the environment, or begins an episode where that is due.
    pub(super) fn step(
        &mut self,
        mode: AutoresetMode,
        action: &[f32],
        mut observation: ObservationMut<'_>,
    ) {
        if !self.active {
            return;
        }
        if !self.live {
            return self.reset(None, observation);
        }
        match self.env.step(action, observation.reborrow()) {
            Ok(step) => self.step = step,
            Err(error) => self.error = Some(error),
        }
        if self.step.done() && mode == AutoresetMode::SameStep {
            self.keep_final(observation.reborrow());
            self.error = self.env.reset(None, observation).err();
            self.live = self.error.is_none();
        } else {
            self.live = self.error.is_none() && !self.step.done();
        }
    }

    fn keep_final(&mut self, observation: ObservationMut<'_>) {
        match (&mut self.final_observation, observation) {
            (Some(ObservationBuffer::U8(to)), ObservationMut::U8(from)) => to.copy_from_slice(from),
            (Some(ObservationBuffer::F32(to)), ObservationMut::F32(from)) => {
                to.copy_from_slice(from);
            }
            _ => unreachable!("room was made for an observation of this space"),
        }
        self.has_final_observation = true;
    }
}
