//! The context of a record: what both kinds of rollouts say of themselves.

use std::collections::BTreeMap;

use rl755_env::{EnvSpec, Space};
use rl755_run::Digest;

use super::{SCHEMA_VERSION, SchemaError, context};
use crate::{
    proto::example::{Example, FeatureView},
    proto::{Feature, Features},
};

/// The most values of an observation or action that are read: 64 MiB as a frame.
pub(crate) const MAX_VALUES: usize = 1 << 26;

/// The most dimensions of an observation that are read.
const MAX_DIMENSIONS: usize = 8;

/// What both kinds of rollouts have in their context.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) environment: EnvSpec,
    pub(crate) seed: u64,
    pub(crate) policy: String,
    pub(crate) steps: usize,
    pub(crate) terminated: bool,
    pub(crate) truncated: bool,
    /// `png`, `tensor`, `float` or `latent`.
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

    pub(super) fn read(example: &Example<'_>) -> Result<Self, SchemaError> {
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
        let steps = count(context::STEPS, int(example, context::STEPS)?)?;
        check_steps(steps)?;
        Ok(Self {
            environment,
            seed: int(example, context::SEED)?.cast_unsigned(),
            policy: text(example, context::POLICY)?,
            steps,
            terminated: flag(example, context::TERMINATED)?,
            truncated: flag(example, context::TRUNCATED)?,
            format: text(example, context::OBSERVATION_FORMAT)?,
            shape: counts(example, context::OBSERVATION_SHAPE)?,
            encoder,
        })
    }
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

/// Rejects rollouts without steps.
pub(crate) fn check_steps(steps: usize) -> Result<(), SchemaError> {
    if steps > 0 {
        return Ok(());
    }
    Err(SchemaError::Value {
        key: context::STEPS,
        step: None,
        found: "0".to_owned(),
        expected: "at least 1".to_owned(),
    })
}

/// Whether observations or actions of that shape are read.
pub(crate) fn is_readable(shape: &[usize]) -> bool {
    let values = shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
    values.is_some_and(|values| (1..=MAX_VALUES).contains(&values))
}

/// Rejects spaces that no environment has. The spec is text in the record: it must not make a
/// reader ask for any memory it likes.
pub(crate) fn check_spaces(environment: &EnvSpec) -> Result<(), SchemaError> {
    for space in [&environment.observation_space, &environment.action_space] {
        let sound = match space {
            Space::Box { low, high } => low.len() == high.len(),
            Space::Discrete { n } => *n > 0,
            Space::Image { .. } => true,
        };
        if !sound || !is_readable(&space.shape()) {
            return Err(SchemaError::Value {
                key: context::ENVIRONMENT_SPEC,
                step: None,
                found: match space {
                    Space::Box { low, high } => {
                        format!("one with {} lower and {} upper bounds", low.len(), high.len())
                    }
                    other => format!("one with the space {other}"),
                },
                expected: format!("one with spaces of 1 to {MAX_VALUES} values"),
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
