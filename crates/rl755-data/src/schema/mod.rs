//! Rollouts as `tf.train.SequenceExample` records, as `data-schemas/rollout.md` describes them.
//!
//! # What reading a record may cost
//!
//! Whatever a record says of lengths and counts, reading it holds at most
//! `80 x its length + 64 KiB` bytes at a time, and never panics. Of that, the JSON of
//! `environment_spec` takes the most, 64 bytes for the two of a hostile `[[`; without it, it is
//! `16 x its length`, of which 8 are for the place of each frame where steps are empty. Decoding all
//! its frames ([`Rollout`](crate::Rollout)`::from_record`) takes what they are once decoded, and once
//! more while they are: at most 2,100 bytes for each byte, as deflate can make 1,032 of one. Time
//! grows with the length alone.

mod domain;
pub(crate) mod encoded_record;
pub(crate) mod extras;
mod head;
mod parsed;
pub(crate) mod raw_record;

use prost::Message;
use rl755_env::EnvSpec;

use crate::{
    DatasetManifest, FrameError,
    proto::wire::WireError,
    proto::{Feature, FeatureList, FeatureLists, SequenceExample},
};

pub use self::raw_record::RolloutRecorder;
pub(crate) use self::{
    domain::{Domain, float_row, float_rows},
    head::{Head, MAX_VALUES, check_spaces, check_steps, is_readable},
    parsed::{Parsed, byte_string},
};

/// The version of the schema that this crate writes and reads.
const SCHEMA_VERSION: i64 = 1;

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
    /// Something is wrong with an extra of an encoded rollout.
    #[error("the extra `{name}`: {source}")]
    Extra {
        /// Its name.
        name: String,
        /// What is wrong with it.
        source: Box<SchemaError>,
    },
    /// An extra of an encoded rollout may not be called that.
    #[error(
        "an extra is called `{name}`; it must be 1 to 64 ASCII letters, digits, `_`, `-` and `.`"
    )]
    ExtraName {
        /// Its name.
        name: String,
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
        /// `environment`, `encoder`, `latent width`, `list of extras`.
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
    let [found, expected] = told_apart(environment, &manifest.environment);
    Err(SchemaError::Misfit { what: "environment", found, expected })
}

/// What tells one environment from another: their ids, or else their rules or their spaces.
pub(crate) fn told_apart(one: &EnvSpec, other: &EnvSpec) -> [String; 2] {
    [one, other].map(|spec| {
        if one.id != other.id {
            spec.id.clone()
        } else if one.rules != other.rules {
            format!("{} ({})", spec.id, spec.rules)
        } else {
            let EnvSpec { id, observation_space, action_space, max_episode_steps, .. } = spec;
            let most =
                max_episode_steps.map_or_else(String::new, |n| format!(", {n} steps at most"));
            format!("{id} ({observation_space} to {action_space}{most})")
        }
    })
}

/// The record of a context and its sequences.
pub(crate) fn record<K: Into<String>>(head: &Head, sequences: Vec<(K, Vec<Feature>)>) -> Vec<u8> {
    let feature_list =
        sequences.into_iter().map(|(key, feature)| (key.into(), FeatureList { feature })).collect();
    SequenceExample {
        context: Some(head.to_features()),
        feature_lists: Some(FeatureLists { feature_list }),
    }
    .encode_to_vec()
}

#[cfg(test)]
mod tests {
    use rl755_env::Space;

    use super::*;

    #[test]
    fn environments_are_told_apart_by_what_differs() {
        let spec = |id: &str, rules: &str, n| EnvSpec {
            id: id.to_owned(),
            observation_space: Space::Discrete { n },
            action_space: Space::Discrete { n: 3 },
            max_episode_steps: Some(9),
            rules: rules.to_owned(),
        };
        let check = |other: EnvSpec, expected: [&str; 2]| {
            assert_eq!(told_apart(&spec("A-v0", "a", 2), &other), expected);
        };
        check(spec("B-v0", "b", 4), ["A-v0", "B-v0"]);
        check(spec("A-v0", "b", 4), ["A-v0 (a)", "A-v0 (b)"]);
        let text = |n| format!("A-v0 (Discrete({n}) to Discrete(3), 9 steps at most)");
        check(spec("A-v0", "a", 4), [&text(2), &text(4)]);
    }
}
