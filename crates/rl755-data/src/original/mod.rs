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

mod check;
mod sequences;

use std::collections::BTreeMap;

use ndarray::Array2;
use rl755_env::{EnvSpec, ObservationBuffer, Space};
use rl755_run::Digest;

pub(crate) use self::check::{check, is_unknown};
use self::sequences::{Actions, Observations, Rows, required, shape, steps_of_first_episode};
use crate::{
    EncodedRollout, FrameShape, Rollout, SchemaError,
    proto::example::Example,
    schema::raw_record::frame_shape,
    schema::{Domain, MAX_VALUES, context, is_readable, lists},
};

/// How the later layout calls the standard deviations.
const LATER_STD_DEVS: &str = "obs_std_devs";
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
        let rewards =
            Rows::read(lists::REWARDS, Domain::Finite, required(&example, lists::REWARDS)?)?;
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
        for (key, shape_found) in
            [(lists::OBSERVATIONS, observations.shape()), (lists::ACTIONS, vec![actions.width()])]
        {
            if !is_readable(&shape_found) {
                let expected = format!("1 to {MAX_VALUES} values");
                return Err(shape(key, format!("{shape_found:?}"), expected));
            }
        }
        let steps = steps_of_first_episode(&example, stored)?;
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

    /// The shape and pixels of the frames of the steps; `None` where observations are vectors.
    pub(crate) fn frames(&self) -> Option<(FrameShape, &[&'a [u8]])> {
        match &self.observations {
            Observations::Frames { shape, frames } => Some((*shape, &frames[..self.steps])),
            Observations::Vectors(_) => None,
        }
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
        let Some([latents, std_devs]) = self.latents() else {
            return Err(shape(lists::OBSERVATIONS, "frames".to_owned(), "latents"));
        };
        Ok(EncodedRollout {
            environment: environment.clone(),
            seed: 0,
            policy: UNKNOWN_POLICY.to_owned(),
            encoder: encoder.clone(),
            latents,
            std_devs,
            extras: BTreeMap::new(),
            actions: self.actions(&environment.action_space)?,
            rewards: self.rewards.first(self.steps),
            terminated: self.terminated,
            truncated: !self.terminated,
        })
    }

    /// The latents' means and standard deviations, `[steps, latent]`; `None` for frames.
    fn latents(&self) -> Option<[Array2<f32>; 2]> {
        let Observations::Vectors(means) = &self.observations else { return None };
        let dim = (self.steps, means.width);
        let rows = |rows: &Rows| {
            Array2::from_shape_vec(dim, rows.first(self.steps))
                .expect("means and deviations have the same shape, and at least these steps")
        };
        let std_devs = self.std_devs.as_ref().map_or_else(|| Array2::zeros(dim), rows);
        Some([rows(means), std_devs])
    }

    /// The actions `[steps, action_width]` as `space` has them.
    fn actions(&self, space: &Space) -> Result<Array2<f32>, SchemaError> {
        let width = space.width();
        match (&self.actions, space) {
            (Actions::Floats(rows), Space::Box { .. }) if rows.width == width => {}
            (Actions::Floats(rows), Space::Box { .. }) if (rows.width, width) == (4, 3) => {}
            (Actions::Indices(_), Space::Discrete { .. }) => {}
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
        }
        let actions = self.actions.values(self.steps, width);
        let values = actions.as_slice().expect("it was made row by row");
        Domain::of(space).check(lists::ACTIONS, 0, width, values)?;
        Ok(actions)
    }
}
