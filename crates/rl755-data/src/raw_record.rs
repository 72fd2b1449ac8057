//! Raw rollouts as records: PNG frames or float vectors.

use ndarray::Array2;
use rayon::prelude::*;
use rl755_env::{EnvSpec, ObservationBuffer, ObservationRef, Space};

use crate::{
    DatasetManifest, Rollout, SchemaError, StoredRollout,
    png_frame::{FrameShape, check_frame, decode_frame, encode_frame},
    proto::Feature,
    schema::{Head, Parsed, byte_string, check_environment, float_features, lists, record},
};

const PNG: &str = "png";
const FLOAT: &str = "float";
const FORMATS: &str = "`png` or `float`";

/// The largest observation that is read: 64 MiB as a frame.
const MAX_OBSERVATION_VALUES: usize = 1 << 26;

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
    observations: Vec<Feature>,
    actions: Vec<Feature>,
    rewards: Vec<Feature>,
}

impl RolloutRecorder {
    /// A recorder of an episode that has not begun.
    pub fn new(environment: EnvSpec, seed: u64, policy: &str) -> Self {
        let image = frame_shape(&environment.observation_space).is_some();
        Self {
            head: Head {
                seed,
                policy: policy.to_owned(),
                steps: 0,
                terminated: false,
                truncated: false,
                format: if image { PNG } else { FLOAT }.to_owned(),
                shape: environment.observation_space.shape(),
                encoder: None,
                environment,
            },
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
        let space = &self.head.environment.observation_space;
        let observation = match (frame_shape(space), observation) {
            (Some(shape), ObservationRef::U8(frame)) if frame.len() == shape.bytes() => {
                let bytes = encode_frame(shape, frame)
                    .map_err(|source| SchemaError::Frame { step, source })?;
                Feature::bytes(bytes)
            }
            (None, ObservationRef::F32(values)) => {
                one(lists::OBSERVATIONS, step, space.width(), values)?
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
        let action = one(lists::ACTIONS, step, self.head.environment.action_space.width(), action)?;
        let reward = one(lists::REWARDS, step, 1, &[reward])?;
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

    /// The record of the episode, which has ended as said.
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

fn one(
    key: &'static str,
    step: usize,
    width: usize,
    values: &[f32],
) -> Result<Feature, SchemaError> {
    if let Some(&value) = values.iter().find(|v| !v.is_finite()) {
        return Err(SchemaError::NotFinite { key, step, value });
    }
    if values.len() != width {
        return Err(SchemaError::Shape {
            key,
            step: Some(step),
            found: format!("{} floats", values.len()),
            expected: format!("{width} floats"),
        });
    }
    Ok(Feature::floats(values.to_vec()))
}

impl StoredRollout for Rollout {
    fn to_record(&self) -> Result<Vec<u8>, SchemaError> {
        let width = self.environment.observation_space.width();
        let action_width = self.environment.action_space.width();
        let held = match &self.observations {
            ObservationBuffer::U8(v) => v.len(),
            ObservationBuffer::F32(v) => v.len(),
        };
        let steps = self.steps();
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
        let mut recorder = RolloutRecorder::new(self.environment.clone(), self.seed, &self.policy);
        for (step, (action, &reward)) in
            self.actions.rows().into_iter().zip(&self.rewards).enumerate()
        {
            recorder.push(self.observations.row(step, width), &action.to_vec(), reward)?;
        }
        Ok(recorder.finish(self.terminated, self.truncated))
    }

    fn from_record(record: &[u8]) -> Result<Self, SchemaError> {
        let raw = RawRecord::parse(record)?;
        let steps = raw.parsed.head.steps;
        let observations = match raw.frame_shape() {
            Some(shape) => {
                let mut frames = vec![0; steps * shape.bytes()];
                frames
                    .par_chunks_mut(shape.bytes())
                    .enumerate()
                    .try_for_each(|(step, frame)| raw.decode_frame(step, frame))?;
                ObservationBuffer::U8(frames)
            }
            None => ObservationBuffer::F32(raw.vectors()?),
        };
        let (actions, rewards) = raw.actions_and_rewards()?;
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
        let expected = if frame_shape(space).is_some() { PNG } else { FLOAT };
        if head.format != expected {
            return Err(SchemaError::Format { found: head.format.clone(), expected: FORMATS });
        }
        if head.shape != space.shape() {
            return Err(SchemaError::Shape {
                key: crate::schema::context::OBSERVATION_SHAPE,
                step: None,
                found: format!("{:?}", head.shape),
                expected: format!("{:?}", space.shape()),
            });
        }
        // The spec is text in the record: it must not make a reader ask for any memory it likes.
        let bytes = head.shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
        if bytes.is_none_or(|bytes| bytes > MAX_OBSERVATION_VALUES) {
            return Err(SchemaError::Shape {
                key: crate::schema::context::OBSERVATION_SHAPE,
                step: None,
                found: format!("{:?}", head.shape),
                expected: format!("at most {MAX_OBSERVATION_VALUES} values"),
            });
        }
        let frames = match frame_shape(space) {
            Some(_) => parsed.features(lists::OBSERVATIONS)?,
            None => Vec::new(),
        };
        Ok(Self { parsed, frames })
    }

    pub(crate) fn frame_shape(&self) -> Option<FrameShape> {
        frame_shape(&self.parsed.head.environment.observation_space)
    }

    /// The frame of step `step` as it is stored.
    ///
    /// # Panics
    /// When there is no such step, or observations are vectors.
    pub(crate) fn stored(&self, step: usize) -> Result<&'a [u8], SchemaError> {
        byte_string(lists::OBSERVATIONS, step, self.frames[step])
    }

    fn decode_frame(&self, step: usize, frame: &mut [u8]) -> Result<(), SchemaError> {
        let Some(shape) = self.frame_shape() else {
            let found = self.parsed.head.format.clone();
            return Err(SchemaError::Format { found, expected: "`png`" });
        };
        decode_frame(shape, self.stored(step)?, frame)
            .map_err(|source| SchemaError::Frame { step, source })
    }

    /// The vectors of all steps, one after another.
    pub(crate) fn vectors(&self) -> Result<Vec<f32>, SchemaError> {
        let width = self.parsed.head.environment.observation_space.width();
        self.parsed.floats(lists::OBSERVATIONS, width)
    }

    fn actions_and_rewards(&self) -> Result<(Array2<f32>, Vec<f32>), SchemaError> {
        actions_and_rewards(&self.parsed)
    }

    /// Checks everything but the pixels.
    pub(crate) fn check(&self) -> Result<(), SchemaError> {
        self.actions_and_rewards()?;
        let Some(shape) = self.frame_shape() else {
            return self.vectors().map(|_| ());
        };
        (0..self.parsed.head.steps).try_for_each(|step| {
            check_frame(shape, self.stored(step)?)
                .map_err(|source| SchemaError::Frame { step, source })
        })
    }
}

/// The actions `[steps, action_width]` and rewards `[steps]` of a rollout of either kind.
pub(crate) fn actions_and_rewards(
    parsed: &Parsed<'_>,
) -> Result<(Array2<f32>, Vec<f32>), SchemaError> {
    let width = parsed.head.environment.action_space.width();
    let actions = parsed.floats(lists::ACTIONS, width)?;
    let actions = Array2::from_shape_vec((parsed.head.steps, width), actions)
        .expect("floats gave one row of that width per step");
    Ok((actions, parsed.floats(lists::REWARDS, 1)?))
}

/// Features of the actions and rewards of a rollout of either kind.
pub(crate) fn action_and_reward_features(
    steps: usize,
    actions: &Array2<f32>,
    rewards: &[f32],
) -> Result<(Vec<Feature>, Vec<Feature>), SchemaError> {
    let flat: Vec<f32> = actions.iter().copied().collect();
    Ok((
        float_features(lists::ACTIONS, steps, actions.ncols(), &flat)?,
        float_features(lists::REWARDS, steps, 1, rewards)?,
    ))
}
