//! The latest observations together.

use super::misfit;
use crate::{
    Env, EnvError, EnvSpec, ObservationBuffer, ObservationMut, ObservationRef, RgbFrame, Scene3d,
    Space, Step,
};

/// The most observations in a stack: with more, a slip would take all memory.
const MAX_STACK: usize = 1024;

/// Joins the latest observations, the oldest first, as Gymnasium's `FrameStackObservation` does;
/// after a reset all of them are the first one (its `padding_type="reset"`).
///
/// Frames are stacked along their channels, `[height, width, stack_size × channel]`, and vectors
/// one behind the other, so that the observation space stays of its kind; Gymnasium adds an axis
/// in front instead.
#[doc(alias = "FrameStack")]
#[derive(Debug)]
pub struct FrameStackObservation<E> {
    env: E,
    spec: EnvSpec,
    latest: ObservationBuffer,
    stack: ObservationBuffer,
    /// Values that lie together in one observation and in the stack.
    groups: [usize; 2],
}

impl<E: Env> FrameStackObservation<E> {
    /// Joins the latest `stack_size` observations of `env`.
    ///
    /// # Errors
    /// When `stack_size` is 0 or above 1024, or the observations are neither frames nor vectors.
    pub fn new(env: E, stack_size: usize) -> Result<Self, EnvError> {
        let misfit = |reason: String| Err(misfit("FrameStackObservation", env.spec(), reason));
        if !(1..=MAX_STACK).contains(&stack_size) {
            return misfit(format!(
                "a stack of {stack_size} observations; 1 to {MAX_STACK} will do"
            ));
        }
        let space = &env.spec().observation_space;
        let (observation_space, group) = match space {
            Space::Image { height, width, channels } => {
                let (height, width, channels) = (*height, *width, *channels);
                (Space::Image { height, width, channels: channels * stack_size }, channels)
            }
            Space::Box { low, high } => {
                let (low, high) = (low.repeat(stack_size), high.repeat(stack_size));
                (Space::Box { low, high }, space.width())
            }
            Space::Discrete { .. } => {
                return misfit(format!(
                    "its observations, {space}, are neither frames nor vectors"
                ));
            }
        };
        Ok(Self {
            latest: ObservationBuffer::zeros(space, 1),
            stack: ObservationBuffer::zeros(&observation_space, 1),
            spec: EnvSpec { observation_space, ..env.spec().clone() },
            groups: [group, group * stack_size],
            env,
        })
    }

    /// The wrapped environment.
    pub fn env(&self) -> &E {
        &self.env
    }
}

/// Moves every group of the stack on by one observation, and appends the latest.
fn push<T: Copy>(stack: &mut [T], latest: &[T], [group, stacked]: [usize; 2]) {
    // All at once: what moves in from the next group is written over.
    stack.copy_within(group.., 0);
    if group == 1 {
        // Grey frames: single bytes are not worth a call to copy each.
        let last = stack[stacked - 1..].iter_mut().step_by(stacked);
        last.zip(latest).for_each(|(to, from)| *to = *from);
        return;
    }
    for (to, from) in stack.chunks_exact_mut(stacked).zip(latest.chunks_exact(group)) {
        to[stacked - group..].copy_from_slice(from);
    }
}

/// Makes every observation of the stack the latest.
fn fill<T: Copy>(stack: &mut [T], latest: &[T], [group, stacked]: [usize; 2]) {
    for (to, from) in stack.chunks_exact_mut(stacked).zip(latest.chunks_exact(group)) {
        to.chunks_exact_mut(group).for_each(|to| to.copy_from_slice(from));
    }
}

/// The caller's buffer, if it fits `spec`.
fn checked<'a>(
    observation: ObservationMut<'a>,
    spec: &EnvSpec,
) -> Result<ObservationMut<'a>, EnvError> {
    match spec.observation_space {
        Space::Image { .. } => observation.bytes(spec).map(ObservationMut::U8),
        _ => observation.floats(spec).map(ObservationMut::F32),
    }
}

impl<E> FrameStackObservation<E> {
    /// Changes the stack by the latest observation, and copies it to the caller's buffer.
    fn update(
        &mut self,
        bytes: fn(&mut [u8], &[u8], [usize; 2]),
        floats: fn(&mut [f32], &[f32], [usize; 2]),
        observation: ObservationMut<'_>,
    ) {
        match (self.stack.as_mut(), self.latest.as_ref(), observation) {
            (ObservationMut::U8(stack), ObservationRef::U8(latest), ObservationMut::U8(to)) => {
                bytes(stack, latest, self.groups);
                to.copy_from_slice(stack);
            }
            (ObservationMut::F32(stack), ObservationRef::F32(latest), ObservationMut::F32(to)) => {
                floats(stack, latest, self.groups);
                to.copy_from_slice(stack);
            }
            _ => unreachable!("the buffers are made from the spec, and the caller's is checked"),
        }
    }
}

impl<E: Env> Env for FrameStackObservation<E> {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        let observation = checked(observation, &self.spec)?;
        self.env.reset(seed, self.latest.as_mut())?;
        self.update(fill, fill, observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let observation = checked(observation, &self.spec)?;
        let step = self.env.step(action, self.latest.as_mut())?;
        self.update(push, push, observation);
        Ok(step)
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.env.render()
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        self.env.scene()
    }
}
