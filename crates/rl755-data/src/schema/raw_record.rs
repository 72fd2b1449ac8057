//! Raw rollouts as records: frames, as PNG or as tensors, or float vectors.

use ndarray::{Array2, Axis, aview1};
use rayon::prelude::*;
use rl755_env::{EnvSpec, ObservationBuffer, ObservationRef, Space};

use crate::{
    DatasetManifest, FrameFormat, FrameShape, Rollout, SchemaError, StoredRollout,
    proto::Feature,
    schema::{
        Domain, Head, Parsed, byte_string, check_environment, check_spaces, check_steps, context,
        float_row, float_rows, lists, record,
    },
};

/// `observation_format` of vectors.
const FLOAT: &str = "float";

/// The shape of the frames of `space`, or `None` where observations are vectors.
pub(crate) fn frame_shape(space: &Space) -> Option<FrameShape> {
    match *space {
        Space::Image { height, width, channels } => Some(FrameShape { height, width, channels }),
        _ => None,
    }
}

/// Turns an episode into a record while it runs, so that its frames are held compressed.
#[derive(Debug)]
pub struct RolloutRecorder {
    head: Head,
    frame_format: FrameFormat,
    observations: Vec<Feature>,
    actions: Vec<Feature>,
    rewards: Vec<Feature>,
}

impl RolloutRecorder {
    /// A recorder of an episode that has not begun. Frames, where observations are frames, are
    /// stored in `frame_format`.
    pub fn new(environment: EnvSpec, seed: u64, policy: &str, frame_format: FrameFormat) -> Self {
        let image = frame_shape(&environment.observation_space).is_some();
        Self {
            head: Head {
                seed,
                policy: policy.to_owned(),
                steps: 0,
                terminated: false,
                truncated: false,
                format: if image { frame_format.name() } else { FLOAT }.to_owned(),
                shape: environment.observation_space.shape(),
                encoder: None,
                environment,
            },
            frame_format,
            observations: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
        }
    }

    /// Adds a step: what was seen, the action chosen from it, and the reward of that action.
    ///
    /// # Errors
    /// When a width is not that of the environment's spaces, or a number is not finite.
    pub fn push(
        &mut self,
        observation: ObservationRef<'_>,
        action: &[f32],
        reward: f32,
    ) -> Result<(), SchemaError> {
        let step = self.head.steps;
        if step == 0 {
            check_spaces(&self.head.environment)?;
        }
        let space = &self.head.environment.observation_space;
        let observation = match (frame_shape(space), observation) {
            (Some(shape), ObservationRef::U8(frame)) if frame.len() == shape.bytes() => {
                let bytes = self
                    .frame_format
                    .encode(shape, frame)
                    .map_err(|source| SchemaError::Frame { step, source })?;
                Feature::bytes(bytes)
            }
            (None, ObservationRef::F32(values)) => {
                float_row(lists::OBSERVATIONS, step, space.width(), Domain::of(space), values)?
            }
            (_, observation) => {
                let (len, kind) = match observation {
                    ObservationRef::U8(v) => (v.len(), "bytes"),
                    ObservationRef::F32(v) => (v.len(), "floats"),
                };
                return Err(SchemaError::Shape {
                    key: lists::OBSERVATIONS,
                    step: Some(step),
                    found: format!("{len} {kind}"),
                    expected: format!("{:?} of {}", space.shape(), self.head.format),
                });
            }
        };
        let space = &self.head.environment.action_space;
        let action = float_row(lists::ACTIONS, step, space.width(), Domain::of(space), action)?;
        let reward = float_row(lists::REWARDS, step, 1, Domain::Finite, &[reward])?;
        self.observations.push(observation);
        self.actions.push(action);
        self.rewards.push(reward);
        self.head.steps += 1;
        Ok(())
    }

    /// How many steps there are so far.
    pub fn steps(&self) -> usize {
        self.head.steps
    }

    /// The record of the episode, which has ended as said. Readers refuse one without steps.
    pub fn finish(mut self, terminated: bool, truncated: bool) -> Vec<u8> {
        self.head.terminated = terminated;
        self.head.truncated = truncated;
        record(
            &self.head,
            vec![
                (lists::OBSERVATIONS, self.observations),
                (lists::ACTIONS, self.actions),
                (lists::REWARDS, self.rewards),
            ],
        )
    }
}

impl Rollout {
    /// As [`StoredRollout::to_record`], with frames in `frame_format`.
    ///
    /// # Errors
    /// As `to_record`, and when the format has no frames of that shape.
    pub fn to_record_as(&self, frame_format: FrameFormat) -> Result<Vec<u8>, SchemaError> {
        let width = self.environment.observation_space.width();
        let action_width = self.environment.action_space.width();
        let held = match &self.observations {
            ObservationBuffer::U8(v) => v.len(),
            ObservationBuffer::F32(v) => v.len(),
        };
        let steps = self.steps();
        check_steps(steps)?;
        if held != steps * width {
            return Err(SchemaError::Shape {
                key: lists::OBSERVATIONS,
                step: None,
                found: format!("{held} values"),
                expected: format!("{steps} times {width}"),
            });
        }
        if self.actions.dim() != (steps, action_width) {
            return Err(SchemaError::Shape {
                key: lists::ACTIONS,
                step: None,
                found: format!("{:?} floats", self.actions.dim()),
                expected: format!("{:?} floats", (steps, action_width)),
            });
        }
        let mut recorder =
            RolloutRecorder::new(self.environment.clone(), self.seed, &self.policy, frame_format);
        for (step, (action, &reward)) in
            self.actions.rows().into_iter().zip(&self.rewards).enumerate()
        {
            recorder.push(self.observations.row(step, width), &action.to_vec(), reward)?;
        }
        Ok(recorder.finish(self.terminated, self.truncated))
    }
}

impl StoredRollout for Rollout {
    /// Frames are stored as PNG, or as tensors where PNG has no such pictures;
    /// [`Rollout::to_record_as`] gives the choice.
    fn to_record(&self) -> Result<Vec<u8>, SchemaError> {
        self.to_record_as(match self.environment.observation_space {
            Space::Image { channels: 5.., .. } => FrameFormat::Tensor,
            _ => FrameFormat::default(),
        })
    }

    fn from_record(record: &[u8]) -> Result<Self, SchemaError> {
        let raw = RawRecord::parse(record)?;
        // Before memory is taken for the frames, the record must have what can fill it.
        let (actions, rewards) = raw.check()?;
        let observations = match raw.frame_shape() {
            Some(shape) => {
                let mut frames = vec![0; raw.frames.len() * shape.bytes()];
                frames
                    .par_chunks_mut(shape.bytes())
                    .enumerate()
                    .try_for_each(|(step, frame)| raw.decode_frame(step, frame))?;
                ObservationBuffer::U8(frames)
            }
            None => ObservationBuffer::F32(raw.vectors()?),
        };
        let head = raw.parsed.head;
        Ok(Self {
            environment: head.environment,
            seed: head.seed,
            policy: head.policy,
            observations,
            actions,
            rewards,
            terminated: head.terminated,
            truncated: head.truncated,
        })
    }

    fn steps(&self) -> usize {
        Rollout::steps(self)
    }

    fn check_fits(&self, manifest: &DatasetManifest) -> Result<(), SchemaError> {
        check_environment(&self.environment, manifest)
    }
}

/// A record of a raw rollout whose frames have been found but not decoded.
#[derive(Debug)]
pub(crate) struct RawRecord<'a> {
    pub(crate) parsed: Parsed<'a>,
    format: FrameFormat,
    /// The features of the frames, one per step; none where observations are vectors.
    frames: Vec<&'a [u8]>,
}

impl<'a> RawRecord<'a> {
    pub(crate) fn parse(record: &'a [u8]) -> Result<Self, SchemaError> {
        Self::of(Parsed::from_record(record)?)
    }

    pub(crate) fn of(parsed: Parsed<'a>) -> Result<Self, SchemaError> {
        let head = &parsed.head;
        let space = &head.environment.observation_space;
        let wrong = |expected| SchemaError::Format { found: head.format.clone(), expected };
        let format = match frame_shape(space) {
            Some(_) => {
                FrameFormat::named(&head.format).ok_or_else(|| wrong("`png` or `tensor`"))?
            }
            None if head.format == FLOAT => FrameFormat::default(),
            None => return Err(wrong("`float`")),
        };
        if head.shape != space.shape() {
            return Err(SchemaError::Shape {
                key: context::OBSERVATION_SHAPE,
                step: None,
                found: format!("{:?}", head.shape),
                expected: format!("{:?}", space.shape()),
            });
        }
        let frames = match frame_shape(space) {
            Some(_) => parsed.features(lists::OBSERVATIONS)?,
            None => Vec::new(),
        };
        Ok(Self { parsed, format, frames })
    }

    pub(crate) fn frame_shape(&self) -> Option<FrameShape> {
        frame_shape(&self.parsed.head.environment.observation_space)
    }

    /// How its frames are stored; means nothing where observations are vectors.
    pub(crate) fn format(&self) -> FrameFormat {
        self.format
    }

    /// The frame of step `step` as it is stored.
    ///
    /// # Panics
    /// When there is no such step, or observations are vectors.
    pub(crate) fn stored(&self, step: usize) -> Result<&'a [u8], SchemaError> {
        byte_string(lists::OBSERVATIONS, step, self.frames[step])
    }

    /// Decodes the frame of step `step`.
    ///
    /// # Panics
    /// As [`stored`](Self::stored), and when `frame` has not the size of a frame.
    pub(crate) fn decode_frame(&self, step: usize, frame: &mut [u8]) -> Result<(), SchemaError> {
        let shape = self.frame_shape().expect("vectors have no frames");
        self.format
            .decode(shape, self.stored(step)?, frame)
            .map_err(|source| SchemaError::Frame { step, source })
    }

    /// The vectors of all steps, one after another.
    pub(crate) fn vectors(&self) -> Result<Vec<f32>, SchemaError> {
        let space = &self.parsed.head.environment.observation_space;
        self.parsed.floats(lists::OBSERVATIONS, space.width(), Domain::of(space))
    }

    /// Checks everything but the pixels, and gives the actions `[steps, action_width]` and rewards
    /// `[steps]`.
    pub(crate) fn check(&self) -> Result<(Array2<f32>, Vec<f32>), SchemaError> {
        let read = [lists::OBSERVATIONS, lists::ACTIONS, lists::REWARDS];
        self.parsed.check_others(|key| read.contains(&key))?;
        match self.frame_shape() {
            Some(shape) => (0..self.frames.len()).try_for_each(|step| {
                self.format
                    .check(shape, self.stored(step)?)
                    .map_err(|source| SchemaError::Frame { step, source })
            })?,
            None => drop(self.vectors()?),
        }
        actions_and_rewards(&self.parsed)
    }
}

/// The actions `[steps, action_width]` and rewards `[steps]` of a rollout of either kind.
pub(crate) fn actions_and_rewards(
    parsed: &Parsed<'_>,
) -> Result<(Array2<f32>, Vec<f32>), SchemaError> {
    let space = &parsed.head.environment.action_space;
    let actions = parsed.floats(lists::ACTIONS, space.width(), Domain::of(space))?;
    let actions = Array2::from_shape_vec((parsed.head.steps, space.width()), actions)
        .expect("floats gave one row of that width per step");
    Ok((actions, parsed.floats(lists::REWARDS, 1, Domain::Finite)?))
}

/// Features of the actions and rewards of a rollout of either kind.
pub(crate) fn action_and_reward_features(
    space: &Space,
    steps: usize,
    actions: &Array2<f32>,
    rewards: &[f32],
) -> Result<(Vec<Feature>, Vec<Feature>), SchemaError> {
    Ok((
        float_rows(lists::ACTIONS, (steps, space.width()), Domain::of(space), actions.view())?,
        float_rows(
            lists::REWARDS,
            (steps, 1),
            Domain::Finite,
            aview1(rewards).insert_axis(Axis(1)),
        )?,
    ))
}
