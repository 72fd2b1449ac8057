//! All environments with their observations, and what is to be done with them.

use rayon::{
    iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator},
    slice::{ParallelSlice, ParallelSliceMut},
};

use super::{AutoresetMode, slot::Slot};
use crate::{EnvSpec, ObservationBuffer, ObservationMut};

/// What is to be done with each environment.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    /// Reset it with the seed in its slot.
    Reset,
    /// Step it, if that was prepared.
    Step(AutoresetMode),
}

/// Who does it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Workers {
    /// This thread.
    This,
    /// The threads of the pool that this thread belongs to.
    Pool,
}

/// The environments, their observations and actions: all that threads work on, so that it can be
/// handed to them and back as one.
pub(super) struct Batch {
    pub(super) slots: Vec<Slot>,
    /// `[environment, observation width]`.
    pub(super) observations: ObservationBuffer,
    /// `[environment, action width]`.
    pub(super) actions: Vec<f32>,
    observation_width: usize,
    action_width: usize,
}

/// No environments.
impl Default for Batch {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            observations: ObservationBuffer::U8(Vec::new()),
            actions: Vec::new(),
            observation_width: 1,
            action_width: 1,
        }
    }
}

impl Batch {
    /// The environments of `slots`, which share the spaces of `spec`.
    pub(super) fn new(slots: Vec<Slot>, spec: &EnvSpec) -> Self {
        let action_width = spec.action_space.width();
        Self {
            observations: ObservationBuffer::zeros(&spec.observation_space, slots.len()),
            actions: vec![0.0; slots.len() * action_width],
            observation_width: spec.observation_space.width(),
            action_width,
            slots,
        }
    }

    /// Resets environment `index`.
    pub(super) fn reset_at(&mut self, index: usize, seed: Option<u64>) {
        let range = index * self.observation_width..(index + 1) * self.observation_width;
        let observation = match &mut self.observations {
            ObservationBuffer::U8(v) => ObservationMut::U8(&mut v[range]),
            ObservationBuffer::F32(v) => ObservationMut::F32(&mut v[range]),
        };
        self.slots[index].reset(seed, observation);
    }

    /// Does what `call` says with each environment.
    pub(super) fn run(&mut self, call: Call, workers: Workers) {
        let work = |slot: &mut Slot, action: &[f32], observation: ObservationMut<'_>| match call {
            Call::Reset => slot.reset(slot.seed, observation),
            Call::Step(mode) => slot.step(mode, action, observation),
        };
        let actions = (&self.actions[..], self.action_width);
        match &mut self.observations {
            ObservationBuffer::U8(v) => {
                let observations = (&mut v[..], self.observation_width);
                spread(workers, &mut self.slots, actions, observations, |slot, action, o| {
                    work(slot, action, ObservationMut::U8(o));
                });
            }
            ObservationBuffer::F32(v) => {
                let observations = (&mut v[..], self.observation_width);
                spread(workers, &mut self.slots, actions, observations, |slot, action, o| {
                    work(slot, action, ObservationMut::F32(o));
                });
            }
        }
    }
}

/// Calls `work` for each environment with its action and its observation.
fn spread<O: Send>(
    workers: Workers,
    slots: &mut [Slot],
    (actions, action_width): (&[f32], usize),
    (observations, width): (&mut [O], usize),
    work: impl Fn(&mut Slot, &[f32], &mut [O]) + Sync,
) {
    match workers {
        Workers::This => {
            let rows = actions.chunks_exact(action_width).zip(observations.chunks_exact_mut(width));
            for (slot, (action, observation)) in slots.iter_mut().zip(rows) {
                work(slot, action, observation);
            }
        }
        Workers::Pool => slots
            .par_iter_mut()
            .zip(actions.par_chunks_exact(action_width))
            .zip(observations.par_chunks_exact_mut(width))
            .for_each(|((slot, action), observation)| work(slot, action, observation)),
    }
}
