//! Rollouts as the original project's Python stored them, for bringing them into datasets of ours.
//!
//! Its records are `SequenceExample`s with nothing but `feature_lists`, one feature per step:
//!
//! | key | raw | encoded |
//! |---|---|---|
//! | `observations` | 1 byte string, a frame by `tf.io.serialize_tensor` | floats, the posterior mean |
//! | `observation_std_devs`, later `obs_std_devs` | – | floats; missing where the encoder was deterministic |
//! | `actions` | 3 floats, or 4 of which the last has no meaning; later 1 integer | the same |
//! | `rewards` | 1 float | the same |
//! | `done_step` | later: 1 integer in one feature | the same |
//!
//! What it means for a [`Rollout`]:
//!
//! - They know no environment; the reader names it. Seed and policy are lost: 0 and `unknown`.
//! - Step *t*'s observation is what action *t* was chosen from, as in ours. The later layout has
//!   one observation more, which is dropped.
//! - A fourth value of an action is dropped where the environment's actions have three.
//! - `done_step` is the length of the first episode: what comes after it is of the next ones, which
//!   the simulator began by itself, and is dropped. Where no episode ended it is the number of
//!   steps, so a rollout is terminated where `done_step` is less than that. All others are
//!   truncated: how they ended was not stored.
//!
//! Source: <https://github.com/mmatena/comp_755_project>, `structs.py` of September 2020 and
//! `gym_rollouts.py` of November 2020.

use ndarray::Array2;
use rl755_env::{EnvSpec, ObservationBuffer, Space};
use rl755_run::Digest;

use crate::{
    EncodedRollout, FrameShape, Rollout, SchemaError,
    example::{Example, FeatureListView, FeatureView},
    raw_record::frame_shape,
    schema::{Domain, byte_string, context, lists},
    tensor_proto,
};

/// How the later layout calls the standard deviations.
const LATER_STD_DEVS: &str = "obs_std_devs";
const DONE_STEP: &str = "done_step";

/// The policy of rollouts that do not say whose they are.
const UNKNOWN_POLICY: &str = "unknown";

/// A record of the original's whose shapes fit each other; frames are views into it.
///
/// Reading takes no more memory than a small multiple of the record's length.
#[derive(Debug)]
pub struct OriginalRollout<'a> {
    /// Steps of the first episode, at least 1.
    steps: usize,
    observations: Observations<'a>,
    std_devs: Option<Rows>,
    actions: Actions,
    rewards: Rows,
    terminated: bool,
}

#[derive(Debug)]
enum Observations<'a> {
    Frames { shape: FrameShape, frames: Vec<&'a [u8]> },
    Vectors(Rows),
}

#[derive(Debug)]
enum Actions {
    Floats(Rows),
    Indices(Vec<i64>),
}

/// Finite floats, `[steps, width]`.
#[derive(Debug)]
struct Rows {
    steps: usize,
    width: usize,
    values: Vec<f32>,
}

impl<'a> OriginalRollout<'a> {
    /// Reads a record and checks all of it.
    ///
    /// # Errors
    /// When it is of no layout of the original's, has no steps, or a number is not finite.
    pub fn parse(record: &'a [u8]) -> Result<Self, SchemaError> {
        let example = Example::parse(record)?;
        if example.feature(context::SCHEMA_VERSION)?.is_some() {
            return Err(SchemaError::NotOriginal);
        }
        let rewards = Rows::read(lists::REWARDS, Domain::Finite, required(&example, lists::REWARDS)?)?;
        if rewards.width != 1 {
            return Err(shape(lists::REWARDS, format!("{} floats", rewards.width), "1 float"));
        }
        let stored = rewards.steps;
        let actions = Actions::read(required(&example, lists::ACTIONS)?)?;
        if actions.steps() != stored {
            let found = format!("{} steps", actions.steps());
            return Err(shape(lists::ACTIONS, found, format!("{stored} steps")));
        }
        let observations = Observations::read(required(&example, lists::OBSERVATIONS)?)?;
        let seen = observations.steps();
        if seen != stored && seen != stored + 1 {
            let found = format!("{seen} steps");
            return Err(shape(lists::OBSERVATIONS, found, format!("{stored} or one more")));
        }
        let std_devs = match example.list(lists::STD_DEVS)? {
            Some(list) => Some(Rows::read(lists::STD_DEVS, Domain::NotNegative, list)?),
            None => {
                let list = example.list(LATER_STD_DEVS)?;
                let read = |list| Rows::read(LATER_STD_DEVS, Domain::NotNegative, list);
                list.map(read).transpose()?
            }
        };
        if let Some(std_devs) = &std_devs {
            let found = format!("[{}, {}] floats", std_devs.steps, std_devs.width);
            match &observations {
                Observations::Vectors(means) if means.dim() == std_devs.dim() => {}
                Observations::Vectors(means) => {
                    let expected = format!("[{}, {}]", means.steps, means.width);
                    return Err(shape(lists::STD_DEVS, found, expected));
                }
                Observations::Frames { .. } => {
                    return Err(shape(lists::STD_DEVS, found, "none beside frames"));
                }
            }
        }
        let done = done_step(&example)?;
        let steps = match done {
            None => stored,
            Some(done) => usize::try_from(done)
                .ok()
                .filter(|done| (1..=stored).contains(done))
                .ok_or_else(|| shape(DONE_STEP, done.to_string(), format!("1 to {stored}")))?,
        };
        Ok(Self { steps, observations, std_devs, actions, rewards, terminated: steps < stored })
    }

    /// How many steps the episode has.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Whether the observations are latents: they are vectors, and have standard deviations or
    /// stand for frames of `environment`.
    pub fn is_encoded(&self, environment: &EnvSpec) -> bool {
        let frames = frame_shape(&environment.observation_space).is_some();
        matches!(self.observations, Observations::Vectors(_)) && (frames || self.std_devs.is_some())
    }

    /// Values in an observation: of a latent, a vector or a frame.
    pub fn observation_width(&self) -> usize {
        match &self.observations {
            Observations::Frames { shape, .. } => shape.bytes(),
            Observations::Vectors(rows) => rows.width,
        }
    }

    /// Checks that it is a rollout of `environment`: its frames or vectors and its actions are in
    /// the environment's spaces. Latents may have any width.
    ///
    /// # Errors
    /// When that is not so.
    pub fn check_fits(&self, environment: &EnvSpec) -> Result<(), SchemaError> {
        let space = &environment.observation_space;
        let found = match &self.observations {
            Observations::Frames { shape, .. } if frame_shape(space) == Some(*shape) => None,
            Observations::Frames { shape: FrameShape { height, width, channels }, .. } => {
                Some(format!("frames of {height}x{width}x{channels}"))
            }
            Observations::Vectors(_) if self.is_encoded(environment) => None,
            Observations::Vectors(rows) if rows.width == space.width() => None,
            Observations::Vectors(rows) => Some(format!("{} floats", rows.width)),
        };
        if let Some(found) = found {
            let expected =
                format!("{:?} of {} as in {}", space.shape(), space.element(), environment.id);
            return Err(shape(lists::OBSERVATIONS, found, expected));
        }
        self.actions(&environment.action_space).map(|_| ())
    }

    /// The rollout, where it is a raw one of `environment`.
    ///
    /// # Errors
    /// When its observations or actions are not of the environment's spaces.
    pub fn rollout(&self, environment: &EnvSpec) -> Result<Rollout, SchemaError> {
        self.check_fits(environment)?;
        if self.is_encoded(environment) {
            let found = format!("{} floats", self.observation_width());
            return Err(shape(lists::OBSERVATIONS, found, "what was seen, not latents"));
        }
        Ok(Rollout {
            environment: environment.clone(),
            seed: 0,
            policy: UNKNOWN_POLICY.to_owned(),
            observations: match &self.observations {
                Observations::Frames { frames, .. } => {
                    ObservationBuffer::U8(frames[..self.steps].concat())
                }
                Observations::Vectors(rows) => ObservationBuffer::F32(rows.first(self.steps)),
            },
            actions: self.actions(&environment.action_space)?,
            rewards: self.rewards.first(self.steps),
            terminated: self.terminated,
            truncated: !self.terminated,
        })
    }

    /// The rollout, where it is an encoded one of `environment`; `encoder` stands for the encoder,
    /// which the original did not store. Without standard deviations they are 0.
    ///
    /// # Errors
    /// When its observations are frames, or its actions not of the environment's space.
    pub fn encoded(
        &self,
        environment: &EnvSpec,
        encoder: &Digest,
    ) -> Result<EncodedRollout, SchemaError> {
        let Observations::Vectors(means) = &self.observations else {
            return Err(shape(lists::OBSERVATIONS, "frames".to_owned(), "latents"));
        };
        let dim = (self.steps, means.width);
        let rows = |rows: &Rows| {
            Array2::from_shape_vec(dim, rows.first(self.steps))
                .expect("means and deviations have the same shape, and at least these steps")
        };
        Ok(EncodedRollout {
            environment: environment.clone(),
            seed: 0,
            policy: UNKNOWN_POLICY.to_owned(),
            encoder: encoder.clone(),
            latents: rows(means),
            std_devs: self.std_devs.as_ref().map_or_else(|| Array2::zeros(dim), rows),
            actions: self.actions(&environment.action_space)?,
            rewards: self.rewards.first(self.steps),
            terminated: self.terminated,
            truncated: !self.terminated,
        })
    }

    /// The actions `[steps, action_width]` as `space` has them.
    fn actions(&self, space: &Space) -> Result<Array2<f32>, SchemaError> {
        let width = space.width();
        let values = match (&self.actions, space) {
            (Actions::Floats(rows), Space::Box { .. }) if rows.width == width => {
                rows.first(self.steps)
            }
            (Actions::Floats(rows), Space::Box { .. }) if (rows.width, width) == (4, 3) => {
                let used = rows.values.chunks(4).take(self.steps).flat_map(|row| &row[..3]);
                used.copied().collect()
            }
            (Actions::Indices(indices), Space::Discrete { .. }) => {
                let indices = &indices[..self.steps];
                indices.iter().map(|&index| index as f32).collect()
            }
            (actions, _) => {
                let found = match actions {
                    Actions::Floats(rows) => format!("{} floats", rows.width),
                    Actions::Indices(_) => "1 integer".to_owned(),
                };
                let expected = match space {
                    Space::Discrete { .. } => "1 integer".to_owned(),
                    _ => format!("{width} floats"),
                };
                return Err(shape(lists::ACTIONS, found, expected));
            }
        };
        Domain::of(space).check(lists::ACTIONS, 0, width, &values)?;
        Ok(Array2::from_shape_vec((self.steps, width), values)
            .expect("each step gave as many values as the space has"))
    }
}

impl<'a> Observations<'a> {
    fn read(list: FeatureListView<'a>) -> Result<Self, SchemaError> {
        let first = list.features().next().transpose()?;
        let first = first.map(FeatureView::parse).transpose()?;
        if !matches!(first, Some(FeatureView::Bytes(_))) {
            return Rows::read(lists::OBSERVATIONS, Domain::Finite, list).map(Self::Vectors);
        }
        let mut found: Option<FrameShape> = None;
        let mut frames = Vec::new();
        for (step, feature) in list.features().enumerate() {
            let tensor = byte_string(lists::OBSERVATIONS, step, feature?)?;
            let (shape, frame) = tensor_proto::parse_frame(tensor)
                .map_err(|source| SchemaError::Frame { step, source })?;
            let expected = *found.get_or_insert(shape);
            if shape != expected {
                return Err(SchemaError::Shape {
                    key: lists::OBSERVATIONS,
                    step: Some(step),
                    found: format!("{shape:?}"),
                    expected: format!("{expected:?}"),
                });
            }
            frames.push(frame);
        }
        match found {
            Some(shape) => Ok(Self::Frames { shape, frames }),
            None => Err(shape(lists::OBSERVATIONS, "0 steps".to_owned(), "at least 1")),
        }
    }

    fn steps(&self) -> usize {
        match self {
            Self::Frames { frames, .. } => frames.len(),
            Self::Vectors(rows) => rows.steps,
        }
    }
}

impl Actions {
    fn read(list: FeatureListView<'_>) -> Result<Self, SchemaError> {
        let first = list.features().next().transpose()?;
        let first = first.map(FeatureView::parse).transpose()?;
        if !matches!(first, Some(FeatureView::Ints(_))) {
            return Rows::read(lists::ACTIONS, Domain::Finite, list).map(Self::Floats);
        }
        let read = |(step, feature): (usize, Result<_, _>)| {
            one_int(lists::ACTIONS, Some(step), &FeatureView::parse(feature?)?)
        };
        list.features().enumerate().map(read).collect::<Result<_, _>>().map(Self::Indices)
    }

    fn steps(&self) -> usize {
        match self {
            Self::Floats(rows) => rows.steps,
            Self::Indices(indices) => indices.len(),
        }
    }
}

impl Rows {
    fn read(
        key: &'static str,
        domain: Domain,
        list: FeatureListView<'_>,
    ) -> Result<Self, SchemaError> {
        let (mut steps, mut width) = (0, 0);
        let mut values = Vec::with_capacity(list.bytes() / 4);
        for feature in list.features() {
            let feature = FeatureView::parse(feature?)?;
            let start = values.len();
            let floats = feature.append_floats(&mut values)?;
            let found = values.len() - start;
            if steps == 0 {
                width = found;
            }
            if !floats || found != width || width == 0 {
                let count = if width == 0 { String::new() } else { format!("{width} ") };
                return Err(SchemaError::Shape {
                    key,
                    step: Some(steps),
                    found: feature.describe(),
                    expected: format!("{count}floats"),
                });
            }
            steps += 1;
        }
        if steps == 0 {
            return Err(shape(key, "0 steps".to_owned(), "at least 1"));
        }
        domain.check(key, 0, width, &values)?;
        Ok(Self { steps, width, values })
    }

    fn dim(&self) -> (usize, usize) {
        (self.steps, self.width)
    }

    /// The values of the first `steps` steps, of which there are at least as many.
    fn first(&self, steps: usize) -> Vec<f32> {
        self.values[..steps * self.width].to_vec()
    }
}

fn required<'a>(
    example: &Example<'a>,
    key: &'static str,
) -> Result<FeatureListView<'a>, SchemaError> {
    example.list(key)?.ok_or(SchemaError::Missing { key, part: "feature_lists" })
}

/// Where the first episode ends. The original stores it as a sequence of one step; as a feature of
/// the whole rollout it means the same.
fn done_step(example: &Example<'_>) -> Result<Option<i64>, SchemaError> {
    let feature = match example.list(DONE_STEP)? {
        Some(list) => {
            let mut features = list.features();
            match (features.next().transpose()?, features.next().transpose()?) {
                (Some(feature), None) => Some(FeatureView::parse(feature)?),
                _ => return Err(shape(DONE_STEP, "0 or several steps".to_owned(), "1 step")),
            }
        }
        None => example.feature(DONE_STEP)?,
    };
    feature.map(|feature| one_int(DONE_STEP, None, &feature)).transpose()
}

fn one_int(
    key: &'static str,
    step: Option<usize>,
    feature: &FeatureView<'_>,
) -> Result<i64, SchemaError> {
    let mut values = feature.ints().into_iter().flatten();
    match (values.next().transpose()?, values.next().transpose()?) {
        (Some(value), None) => Ok(value),
        _ => {
            let found = feature.describe();
            Err(SchemaError::Shape { key, step, found, expected: "1 integer".to_owned() })
        }
    }
}

fn shape(key: &'static str, found: String, expected: impl Into<String>) -> SchemaError {
    SchemaError::Shape { key, step: None, found, expected: expected.into() }
}
