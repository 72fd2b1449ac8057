//! Rollouts as `tf.train.SequenceExample` records, as `data-schemas/rollout.md` describes them.

use std::collections::BTreeMap;

use ndarray::ArrayView2;
use prost::Message;
use rl755_env::{EnvSpec, Space};
use rl755_run::Digest;

use crate::{
    DatasetManifest, FrameError,
    example::{Example, FeatureListView, FeatureView},
    proto::{Feature, FeatureList, FeatureLists, Features, SequenceExample},
    wire::WireError,
};

/// The version of the schema that this crate writes and reads.
pub const SCHEMA_VERSION: i64 = 1;

/// The most values of an observation or action that are read: 64 MiB as a frame.
pub(crate) const MAX_VALUES: usize = 1 << 26;

/// The most dimensions of an observation that are read.
const MAX_DIMENSIONS: usize = 8;

/// Keys of `feature_lists`.
pub(crate) mod lists {
    pub(crate) const OBSERVATIONS: &str = "observations";
    pub(crate) const STD_DEVS: &str = "observation_std_devs";
    pub(crate) const ACTIONS: &str = "actions";
    pub(crate) const REWARDS: &str = "rewards";
}

/// Keys of `context`.
pub(crate) mod context {
    pub(crate) const SCHEMA_VERSION: &str = "schema_version";
    pub(crate) const ENVIRONMENT: &str = "environment";
    pub(crate) const ENVIRONMENT_SPEC: &str = "environment_spec";
    pub(crate) const SEED: &str = "seed";
    pub(crate) const POLICY: &str = "policy";
    pub(crate) const STEPS: &str = "steps";
    pub(crate) const TERMINATED: &str = "terminated";
    pub(crate) const TRUNCATED: &str = "truncated";
    pub(crate) const OBSERVATION_FORMAT: &str = "observation_format";
    pub(crate) const OBSERVATION_SHAPE: &str = "observation_shape";
    pub(crate) const ENCODER: &str = "encoder";
    pub(crate) const ALL: [&str; 11] = [
        SCHEMA_VERSION,
        ENVIRONMENT,
        ENVIRONMENT_SPEC,
        SEED,
        POLICY,
        STEPS,
        TERMINATED,
        TRUNCATED,
        OBSERVATION_FORMAT,
        OBSERVATION_SHAPE,
        ENCODER,
    ];
}

/// A record is no rollout, or not one of the expected kind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The bytes are no `SequenceExample`.
    #[error("not a SequenceExample: {0}")]
    NotAnExample(#[from] WireError),
    /// The record was written by a later version of this program, or by another one.
    #[error("schema version {found}; this program reads {SCHEMA_VERSION}")]
    Version {
        /// The version in the record.
        found: i64,
    },
    /// The record is one of ours, where one of the original project's is needed.
    #[error("a rollout of this program's own schema, not of the original project's")]
    NotOriginal,
    /// A key is not there.
    #[error("no `{key}` in the {part}")]
    Missing {
        /// The key.
        key: &'static str,
        /// `context` or `feature_lists`.
        part: &'static str,
    },
    /// A feature has another type or another number of values.
    #[error("`{key}`{}: {found}, where {expected} is needed",
        step.map(|s| format!(" of step {s}")).unwrap_or_default())]
    Shape {
        /// The key.
        key: &'static str,
        /// The step, in a sequence.
        step: Option<usize>,
        /// What is there: `2 floats`, `150 steps`.
        found: String,
        /// What should be.
        expected: String,
    },
    /// A number is NaN, infinite, or none that the key may have.
    #[error("`{key}`{} is {found}, where {expected} is needed",
        step.map(|s| format!(" of step {s}")).unwrap_or_default())]
    Value {
        /// The key.
        key: &'static str,
        /// The step, in a sequence.
        step: Option<usize>,
        /// What is there.
        found: String,
        /// What may be.
        expected: String,
    },
    /// A text cannot be understood.
    #[error("`{key}` cannot be read: {reason}")]
    Text {
        /// The key.
        key: &'static str,
        /// Why.
        reason: String,
    },
    /// A frame is no picture of the right shape.
    #[error("`observations` of step {step}: {source}")]
    Frame {
        /// The step.
        step: usize,
        /// What is wrong with it.
        source: FrameError,
    },
    /// The rollout is of another dataset.
    #[error("another {what} than the dataset's: {found}, not {expected}")]
    Misfit {
        /// `environment`, `encoder`, `latent width`.
        what: &'static str,
        /// The record's.
        found: String,
        /// The dataset's.
        expected: String,
    },
    /// The observation format is unknown, or that of the other kind of dataset.
    #[error("observations are stored as `{found}`, where {expected} is needed")]
    Format {
        /// The format in the record.
        found: String,
        /// The formats that would do.
        expected: &'static str,
    },
}

/// A rollout that can be stored as a record: raw or encoded.
pub trait StoredRollout: Sized + Send {
    /// The rollout as a record. Equal rollouts give equal bytes.
    ///
    /// # Errors
    /// When the shapes within the rollout do not fit each other, or a number is not finite.
    fn to_record(&self) -> Result<Vec<u8>, SchemaError>;

    /// The rollout in a record.
    ///
    /// # Errors
    /// When the record is no such rollout.
    fn from_record(record: &[u8]) -> Result<Self, SchemaError>;

    /// How many steps it has.
    fn steps(&self) -> usize;

    /// Checks that it belongs into the dataset that `manifest` describes.
    ///
    /// # Errors
    /// When it is of another environment, width or encoder.
    fn check_fits(&self, manifest: &DatasetManifest) -> Result<(), SchemaError>;
}

/// As [`StoredRollout::check_fits`], for what both kinds have.
pub(crate) fn check_environment(
    environment: &EnvSpec,
    manifest: &DatasetManifest,
) -> Result<(), SchemaError> {
    if *environment == manifest.environment {
        return Ok(());
    }
    Err(SchemaError::Misfit {
        what: "environment",
        found: environment.id.clone(),
        expected: manifest.environment.id.clone(),
    })
}

/// What both kinds of rollouts have in their context.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) environment: EnvSpec,
    pub(crate) seed: u64,
    pub(crate) policy: String,
    pub(crate) steps: usize,
    pub(crate) terminated: bool,
    pub(crate) truncated: bool,
    /// `png`, `float` or `latent`.
    pub(crate) format: String,
    /// Shape of an observation as it is stored.
    pub(crate) shape: Vec<usize>,
    /// The digest of the encoder, for latents.
    pub(crate) encoder: Option<Digest>,
}

impl Head {
    pub(crate) fn to_features(&self) -> Features {
        let spec = serde_json::to_vec(&self.environment)
            .expect("strings, numbers and lists can always be written as JSON");
        let text = |s: &str| Feature::bytes(s.as_bytes().to_vec());
        let int = |i: i64| Feature::ints(vec![i]);
        let mut feature: BTreeMap<String, Feature> = [
            (context::SCHEMA_VERSION, int(SCHEMA_VERSION)),
            (context::ENVIRONMENT, text(&self.environment.id)),
            (context::ENVIRONMENT_SPEC, Feature::bytes(spec)),
            (context::SEED, int(self.seed.cast_signed())),
            (context::POLICY, text(&self.policy)),
            (context::STEPS, int(self.steps as i64)),
            (context::TERMINATED, int(self.terminated.into())),
            (context::TRUNCATED, int(self.truncated.into())),
            (context::OBSERVATION_FORMAT, text(&self.format)),
            (
                context::OBSERVATION_SHAPE,
                Feature::ints(self.shape.iter().map(|&n| n as i64).collect()),
            ),
        ]
        .map(|(key, feature)| (key.to_owned(), feature))
        .into();
        if let Some(digest) = &self.encoder {
            feature.insert(context::ENCODER.to_owned(), text(&digest.to_string()));
        }
        Features { feature }
    }

    fn read(example: &Example<'_>) -> Result<Self, SchemaError> {
        let version = int(example, context::SCHEMA_VERSION)?;
        if version != SCHEMA_VERSION {
            return Err(SchemaError::Version { found: version });
        }
        let spec = bytes(example, context::ENVIRONMENT_SPEC)?;
        let unreadable =
            |key| move |e: serde_json::Error| SchemaError::Text { key, reason: e.to_string() };
        let encoder = match example.feature(context::ENCODER)? {
            None => None,
            Some(_) => {
                let text = serde_json::Value::String(text(example, context::ENCODER)?);
                Some(serde_json::from_value(text).map_err(unreadable(context::ENCODER))?)
            }
        };
        let environment: EnvSpec =
            serde_json::from_slice(spec).map_err(unreadable(context::ENVIRONMENT_SPEC))?;
        check_spaces(&environment)?;
        let id = text(example, context::ENVIRONMENT)?;
        if id != environment.id {
            return Err(SchemaError::Value {
                key: context::ENVIRONMENT,
                step: None,
                found: id,
                expected: environment.id,
            });
        }
        Ok(Self {
            environment,
            seed: int(example, context::SEED)?.cast_unsigned(),
            policy: text(example, context::POLICY)?,
            steps: count(context::STEPS, int(example, context::STEPS)?)?,
            terminated: flag(example, context::TERMINATED)?,
            truncated: flag(example, context::TRUNCATED)?,
            format: text(example, context::OBSERVATION_FORMAT)?,
            shape: counts(example, context::OBSERVATION_SHAPE)?,
            encoder,
        })
    }
}

/// A record whose context has been read and whose sequences have only been found.
#[derive(Debug)]
pub(crate) struct Parsed<'a> {
    pub(crate) head: Head,
    example: Example<'a>,
}

impl<'a> Parsed<'a> {
    pub(crate) fn from_record(record: &'a [u8]) -> Result<Self, SchemaError> {
        let example = Example::parse(record)?;
        Ok(Self { head: Head::read(&example)?, example })
    }

    /// Looks at what nobody asks for: every key but those of the context and the sequences `read`
    /// may hold anything, but that must be sound messages too.
    pub(crate) fn check_others(&self, read: &[&str]) -> Result<(), SchemaError> {
        Ok(self.example.check(|key| context::ALL.contains(&key) || read.contains(&key))?)
    }

    fn list(&self, key: &'static str) -> Result<FeatureListView<'a>, SchemaError> {
        self.example.list(key)?.ok_or(SchemaError::Missing { key, part: "feature_lists" })
    }

    /// The features of a sequence, one per step, as [`byte_string`] reads them.
    pub(crate) fn features(&self, key: &'static str) -> Result<Vec<&'a [u8]>, SchemaError> {
        let list = self.list(key)?;
        // Not more than the bytes there are can hold, whatever the context says.
        let mut features = Vec::with_capacity(self.head.steps.min(list.bytes() / 2));
        for feature in list.features() {
            features.push(feature?);
        }
        self.check_steps(key, features.len())?;
        Ok(features)
    }

    /// A sequence of `width` floats of `domain` per step, one step after another.
    pub(crate) fn floats(
        &self,
        key: &'static str,
        width: usize,
        domain: Domain,
    ) -> Result<Vec<f32>, SchemaError> {
        let list = self.list(key)?;
        // Not more than the bytes there are can hold, whatever the context says.
        let expected = self.head.steps.saturating_mul(width);
        let mut values = Vec::with_capacity(expected.min(list.bytes() / 4));
        let mut steps = 0;
        for feature in list.features() {
            let feature = FeatureView::parse(feature?)?;
            let start = values.len();
            if !feature.append_floats(&mut values)? || values.len() - start != width {
                return Err(SchemaError::Shape {
                    key,
                    step: Some(steps),
                    found: feature.describe(),
                    expected: format!("{width} floats"),
                });
            }
            steps += 1;
        }
        self.check_steps(key, steps)?;
        domain.check(key, 0, width, &values)?;
        Ok(values)
    }

    fn check_steps(&self, key: &'static str, found: usize) -> Result<(), SchemaError> {
        if found == self.head.steps {
            return Ok(());
        }
        Err(SchemaError::Shape {
            key,
            step: None,
            found: format!("{found} steps"),
            expected: format!("{} steps", self.head.steps),
        })
    }
}

/// The one byte string of a feature of the sequence `key`.
pub(crate) fn byte_string<'a>(
    key: &'static str,
    step: usize,
    feature: &'a [u8],
) -> Result<&'a [u8], SchemaError> {
    let feature = FeatureView::parse(feature)?;
    feature.byte_string()?.ok_or_else(|| SchemaError::Shape {
        key,
        step: Some(step),
        found: feature.describe(),
        expected: "1 byte string".to_owned(),
    })
}

/// The record of a context and its sequences.
pub(crate) fn record(head: &Head, sequences: Vec<(&str, Vec<Feature>)>) -> Vec<u8> {
    let feature_list = sequences
        .into_iter()
        .map(|(key, feature)| (key.to_owned(), FeatureList { feature }))
        .collect();
    SequenceExample {
        context: Some(head.to_features()),
        feature_lists: Some(FeatureLists { feature_list }),
    }
    .encode_to_vec()
}

/// What the floats of a sequence may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Domain {
    /// All but NaN and the infinities.
    Finite,
    /// Finite and 0 or more.
    NotNegative,
    /// Whole numbers from 0 to n - 1.
    Index {
        /// How many there are.
        n: usize,
    },
}

impl Domain {
    /// That of a space's values. The bounds of a [`Space::Box`] are not among it: environments clip
    /// what exceeds them, and policies such as the original's count on that.
    pub(crate) fn of(space: &Space) -> Self {
        match *space {
            Space::Discrete { n } => Self::Index { n },
            Space::Box { .. } | Space::Image { .. } => Self::Finite,
        }
    }

    fn contains(self, value: f32) -> bool {
        match self {
            Self::Finite => value.is_finite(),
            Self::NotNegative => value.is_finite() && value >= 0.0,
            Self::Index { n } => value >= 0.0 && (value as f64) < n as f64 && value.fract() == 0.0,
        }
    }

    /// Checks rows of `width` values, the first of which is of step `first_step`.
    pub(crate) fn check(
        self,
        key: &'static str,
        first_step: usize,
        width: usize,
        values: &[f32],
    ) -> Result<(), SchemaError> {
        let Some(index) = values.iter().position(|&value| !self.contains(value)) else {
            return Ok(());
        };
        Err(SchemaError::Value {
            key,
            step: Some(first_step + index / width),
            found: values[index].to_string(),
            expected: match self {
                Self::Finite => "a finite number".to_owned(),
                Self::NotNegative => "a finite number of at least 0".to_owned(),
                Self::Index { n } => format!("a whole number from 0 to {}", n.saturating_sub(1)),
            },
        })
    }
}

/// The feature of a step's `width` floats.
///
/// # Errors
/// When there are fewer or more, or one is outside the domain.
pub(crate) fn float_row(
    key: &'static str,
    step: usize,
    width: usize,
    domain: Domain,
    values: &[f32],
) -> Result<Feature, SchemaError> {
    if values.len() != width {
        return Err(SchemaError::Shape {
            key,
            step: Some(step),
            found: format!("{} floats", values.len()),
            expected: format!("{width} floats"),
        });
    }
    domain.check(key, step, width, values)?;
    Ok(Feature::floats(values.to_vec()))
}

/// A feature of floats for each row of `values`, `[steps, width]`.
///
/// # Errors
/// When they have another shape than `shape`, or one is outside the domain.
pub(crate) fn float_rows(
    key: &'static str,
    shape: (usize, usize),
    domain: Domain,
    values: ArrayView2<'_, f32>,
) -> Result<Vec<Feature>, SchemaError> {
    if values.dim() != shape {
        return Err(SchemaError::Shape {
            key,
            step: None,
            found: format!("{:?} floats", values.dim()),
            expected: format!("{shape:?} floats"),
        });
    }
    let rows = values.rows().into_iter().enumerate();
    rows.map(|(step, row)| float_row(key, step, shape.1, domain, &row.to_vec())).collect()
}

fn get<'a>(example: &Example<'a>, key: &'static str) -> Result<FeatureView<'a>, SchemaError> {
    example.feature(key)?.ok_or(SchemaError::Missing { key, part: "context" })
}

fn wrong(key: &'static str, found: &FeatureView<'_>, expected: &str) -> SchemaError {
    SchemaError::Shape { key, step: None, found: found.describe(), expected: expected.to_owned() }
}

fn counts(example: &Example<'_>, key: &'static str) -> Result<Vec<usize>, SchemaError> {
    let feature = get(example, key)?;
    let values = feature.ints().ok_or_else(|| wrong(key, &feature, "a list of integers"))?;
    let mut counts = Vec::with_capacity(MAX_DIMENSIONS);
    for value in values {
        if counts.len() == MAX_DIMENSIONS {
            return Err(wrong(key, &feature, &format!("at most {MAX_DIMENSIONS} integers")));
        }
        counts.push(count(key, value?)?);
    }
    Ok(counts)
}

fn int(example: &Example<'_>, key: &'static str) -> Result<i64, SchemaError> {
    let feature = get(example, key)?;
    let mut values = feature.ints().into_iter().flatten();
    match (values.next().transpose()?, values.next().transpose()?) {
        (Some(value), None) => Ok(value),
        _ => Err(wrong(key, &feature, "1 integer")),
    }
}

fn flag(example: &Example<'_>, key: &'static str) -> Result<bool, SchemaError> {
    match int(example, key)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(SchemaError::Value {
            key,
            step: None,
            found: other.to_string(),
            expected: "0 or 1".to_owned(),
        }),
    }
}

/// Rejects spaces that no environment has. The spec is text in the record: it must not make a
/// reader ask for any memory it likes.
fn check_spaces(environment: &EnvSpec) -> Result<(), SchemaError> {
    for space in [&environment.observation_space, &environment.action_space] {
        let values = space.shape().iter().try_fold(1usize, |product, &n| product.checked_mul(n));
        let sound = match space {
            Space::Box { low, high } => low.len() == high.len(),
            Space::Discrete { n } => *n > 0,
            Space::Image { .. } => true,
        };
        if !sound || !values.is_some_and(|values| (1..=MAX_VALUES).contains(&values)) {
            return Err(SchemaError::Value {
                key: context::ENVIRONMENT_SPEC,
                step: None,
                found: format!("one of {space}"),
                expected: format!("spaces of 1 to {MAX_VALUES} values with two bounds each"),
            });
        }
    }
    Ok(())
}

fn bytes<'a>(example: &Example<'a>, key: &'static str) -> Result<&'a [u8], SchemaError> {
    let feature = get(example, key)?;
    feature.byte_string()?.ok_or_else(|| wrong(key, &feature, "1 byte string"))
}

fn text(example: &Example<'_>, key: &'static str) -> Result<String, SchemaError> {
    let bytes = bytes(example, key)?;
    str::from_utf8(bytes)
        .map(str::to_owned)
        .map_err(|e| SchemaError::Text { key, reason: e.to_string() })
}

fn count(key: &'static str, value: i64) -> Result<usize, SchemaError> {
    usize::try_from(value).map_err(|_| SchemaError::Value {
        key,
        step: None,
        found: value.to_string(),
        expected: "a number of at least 0".to_owned(),
    })
}
