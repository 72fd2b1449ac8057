//! Rollouts as `tf.train.SequenceExample` records, as `data-schemas/rollout.md` describes them.

use std::collections::BTreeMap;

use prost::{
    Message,
    bytes::{Buf, Bytes},
};
use rl755_env::EnvSpec;
use rl755_run::Digest;

use crate::{
    DatasetManifest, FrameError,
    proto::{Feature, FeatureList, FeatureLists, Features, Kind, SequenceExample},
};

/// The version of the schema that this crate writes and reads.
pub const SCHEMA_VERSION: i64 = 1;

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
}

/// A record is no rollout, or not one of the expected kind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The bytes are no `SequenceExample`.
    #[error("not a SequenceExample: {0}")]
    NotAnExample(#[from] prost::DecodeError),
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
    fn from_record(record: Bytes) -> Result<Self, SchemaError>;

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

    pub(crate) fn from_features(features: &Features) -> Result<Self, SchemaError> {
        let version = int(features, context::SCHEMA_VERSION)?;
        if version != SCHEMA_VERSION {
            return Err(SchemaError::Version { found: version });
        }
        let spec = bytes(features, context::ENVIRONMENT_SPEC)?;
        let unreadable =
            |key| move |e: serde_json::Error| SchemaError::Text { key, reason: e.to_string() };
        let shape = ints(features, context::OBSERVATION_SHAPE)?;
        let encoder = match features.feature.get(context::ENCODER) {
            None => None,
            Some(_) => {
                let text = serde_json::Value::String(text(features, context::ENCODER)?);
                Some(serde_json::from_value(text).map_err(unreadable(context::ENCODER))?)
            }
        };
        Ok(Self {
            environment: serde_json::from_slice(spec)
                .map_err(unreadable(context::ENVIRONMENT_SPEC))?,
            seed: int(features, context::SEED)?.cast_unsigned(),
            policy: text(features, context::POLICY)?,
            steps: count(context::STEPS, int(features, context::STEPS)?)?,
            terminated: int(features, context::TERMINATED)? != 0,
            truncated: int(features, context::TRUNCATED)? != 0,
            format: text(features, context::OBSERVATION_FORMAT)?,
            shape: shape
                .iter()
                .map(|&n| count(context::OBSERVATION_SHAPE, n))
                .collect::<Result<_, _>>()?,
            encoder,
        })
    }
}

/// A parsed record whose sequences have not been looked at.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) head: Head,
    lists: BTreeMap<String, FeatureList>,
}

impl Parsed {
    pub(crate) fn from_record(record: impl Buf) -> Result<Self, SchemaError> {
        let example = SequenceExample::decode(record)?;
        let missing = |part| SchemaError::Missing { key: context::SCHEMA_VERSION, part };
        let features = example.context.ok_or_else(|| missing("context"))?;
        let head = Head::from_features(&features)?;
        let lists = example.feature_lists.unwrap_or_default().feature_list;
        Ok(Self { head, lists })
    }

    /// The features of one sequence, one per step.
    pub(crate) fn list(&self, key: &'static str) -> Result<&[Feature], SchemaError> {
        let list =
            self.lists.get(key).ok_or(SchemaError::Missing { key, part: "feature_lists" })?;
        if list.feature.len() != self.head.steps {
            return Err(SchemaError::Shape {
                key,
                step: None,
                found: format!("{} steps", list.feature.len()),
                expected: format!("{} steps", self.head.steps),
            });
        }
        Ok(&list.feature)
    }

    /// A sequence of `width` finite floats per step, one step after another.
    pub(crate) fn floats(&self, key: &'static str, width: usize) -> Result<Vec<f32>, SchemaError> {
        let features = self.list(key)?;
        // The steps were compared with the number of features, so this is no hostile length.
        let mut values = Vec::with_capacity(features.len() * width.min(1 << 16));
        for (step, feature) in features.iter().enumerate() {
            let row = match &feature.kind {
                Some(Kind::FloatList(list)) if list.value.len() == width => &list.value,
                other => {
                    return Err(SchemaError::Shape {
                        key,
                        step: Some(step),
                        found: describe(other.as_ref()),
                        expected: format!("{width} floats"),
                    });
                }
            };
            if let Some(&value) = row.iter().find(|v| !v.is_finite()) {
                return Err(SchemaError::NotFinite { key, step, value });
            }
            values.extend_from_slice(row);
        }
        Ok(values)
    }

    /// The byte string of step `step` in a sequence.
    pub(crate) fn blob(&self, key: &'static str, step: usize) -> Result<&Bytes, SchemaError> {
        match &self.list(key)?[step].kind {
            Some(Kind::BytesList(list)) if list.value.len() == 1 => Ok(&list.value[0]),
            other => Err(SchemaError::Shape {
                key,
                step: Some(step),
                found: describe(other.as_ref()),
                expected: "1 byte string".to_owned(),
            }),
        }
    }
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

fn describe(kind: Option<&Kind>) -> String {
    match kind {
        None => "nothing".to_owned(),
        Some(Kind::BytesList(list)) => format!("{} byte strings", list.value.len()),
        Some(Kind::FloatList(list)) => format!("{} floats", list.value.len()),
        Some(Kind::Int64List(list)) => format!("{} integers", list.value.len()),
    }
}

fn get<'a>(features: &'a Features, key: &'static str) -> Result<Option<&'a Kind>, SchemaError> {
    let missing = SchemaError::Missing { key, part: "context" };
    Ok(features.feature.get(key).ok_or(missing)?.kind.as_ref())
}

fn wrong(key: &'static str, found: Option<&Kind>, expected: &str) -> SchemaError {
    SchemaError::Shape { key, step: None, found: describe(found), expected: expected.to_owned() }
}

fn ints<'a>(features: &'a Features, key: &'static str) -> Result<&'a [i64], SchemaError> {
    match get(features, key)? {
        Some(Kind::Int64List(list)) => Ok(&list.value),
        other => Err(wrong(key, other, "a list of integers")),
    }
}

fn int(features: &Features, key: &'static str) -> Result<i64, SchemaError> {
    match get(features, key)? {
        Some(Kind::Int64List(list)) if list.value.len() == 1 => Ok(list.value[0]),
        other => Err(wrong(key, other, "1 integer")),
    }
}

fn bytes<'a>(features: &'a Features, key: &'static str) -> Result<&'a Bytes, SchemaError> {
    match get(features, key)? {
        Some(Kind::BytesList(list)) if list.value.len() == 1 => Ok(&list.value[0]),
        other => Err(wrong(key, other, "1 byte string")),
    }
}

fn text(features: &Features, key: &'static str) -> Result<String, SchemaError> {
    let bytes = bytes(features, key)?;
    String::from_utf8(bytes.to_vec()).map_err(|e| SchemaError::Text { key, reason: e.to_string() })
}

fn count(key: &'static str, value: i64) -> Result<usize, SchemaError> {
    usize::try_from(value)
        .map_err(|_| SchemaError::Text { key, reason: format!("{value} is no count") })
}
