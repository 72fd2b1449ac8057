//! Rollouts as `tf.train.SequenceExample` records, as `data-schemas/rollout.md` describes them.

use std::collections::BTreeMap;

use prost::Message;
use rl755_env::EnvSpec;
use rl755_run::Digest;

use crate::{
    DatasetManifest, FrameError,
    example::{Example, FeatureListView, FeatureView},
    proto::{Feature, FeatureList, FeatureLists, Features, SequenceExample},
    wire::WireError,
};

/// The version of the schema that this crate writes and reads.
pub const SCHEMA_VERSION: i64 = 1;

/// The most dimensions of an observation that are read.
const MAX_DIMENSIONS: usize = 8;

/// Keys of `feature_lists`.
pub(crate) mod lists {
    pub(crate) const OBSERVATIONS: &str = "observations";
    pub(crate) const STD_DEVS: &str = "observation_std_devs";
    pub(crate) const ACTIONS: &str = "actions";
    pub(crate) const REWARDS: &str = "rewards";
    pub(crate) const ALL: [&str; 4] = [OBSERVATIONS, STD_DEVS, ACTIONS, REWARDS];
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
    /// A number is NaN or infinite.
    #[error("`{key}` of step {step} is {value}")]
    NotFinite {
        /// The key.
        key: &'static str,
        /// The step.
        step: usize,
        /// The number.
        value: f32,
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
        Ok(Self {
            environment: serde_json::from_slice(spec)
                .map_err(unreadable(context::ENVIRONMENT_SPEC))?,
            seed: int(example, context::SEED)?.cast_unsigned(),
            policy: text(example, context::POLICY)?,
            steps: count(context::STEPS, int(example, context::STEPS)?)?,
            terminated: int(example, context::TERMINATED)? != 0,
            truncated: int(example, context::TRUNCATED)? != 0,
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

    /// Looks at what no one asks for: the values of unknown keys must be sound messages too.
    pub(crate) fn check_unknown(&self) -> Result<(), SchemaError> {
        Ok(self.example.check(|key| lists::ALL.contains(&key) || context::ALL.contains(&key))?)
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

    /// A sequence of `width` finite floats per step, one step after another.
    pub(crate) fn floats(&self, key: &'static str, width: usize) -> Result<Vec<f32>, SchemaError> {
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
        if let Some(index) = values.iter().position(|v| !v.is_finite()) {
            return Err(SchemaError::NotFinite { key, step: index / width, value: values[index] });
        }
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

/// A feature of floats for each of the rows of `width` in `values`.
///
/// # Errors
/// When `values` has not `steps` rows, or one is not finite.
pub(crate) fn float_features(
    key: &'static str,
    steps: usize,
    width: usize,
    values: &[f32],
) -> Result<Vec<Feature>, SchemaError> {
    if values.len() != steps * width {
        return Err(SchemaError::Shape {
            key,
            step: None,
            found: format!("{} floats", values.len()),
            expected: format!("{steps} times {width}"),
        });
    }
    if let Some(index) = values.iter().position(|v| !v.is_finite()) {
        return Err(SchemaError::NotFinite { key, step: index / width, value: values[index] });
    }
    if width == 0 {
        return Ok(vec![Feature::floats(Vec::new()); steps]);
    }
    Ok(values.chunks(width).map(|row| Feature::floats(row.to_vec())).collect())
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
    usize::try_from(value)
        .map_err(|_| SchemaError::Text { key, reason: format!("{value} is no count") })
}
