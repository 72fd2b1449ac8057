//! Checking the original's records without knowing their environment.

use std::collections::BTreeMap;

use rl755_env::{EnvSpec, Space};

use super::{Observations, OriginalRollout, UNKNOWN_POLICY};
use crate::{
    FrameFormat, FrameShape, SchemaError, proto::example::Example, schema::Head,
    schema::encoded_record::LATENT, verify::check::CheckedRecord,
};

/// What the id of the environment of records begins with that are only checked: they do not say
/// which it is.
const UNKNOWN: &str = "unknown, of the original project";

/// Whether `environment` stands for that of a record of the original's.
pub(crate) fn is_unknown(environment: &EnvSpec) -> bool {
    environment.id.starts_with(UNKNOWN)
}

/// Checks a record that has no schema version as [`OriginalRollout::parse`] does. The error is
/// `None` where other things than of the original's say that it is none of its records.
pub(crate) fn check(record: &[u8]) -> Result<CheckedRecord, Option<SchemaError>> {
    let original = OriginalRollout::parse(record).map_err(|error| {
        Example::parse(record).is_ok_and(|example| !example.has_context()).then_some(error)
    })?;
    Ok(original.checked())
}

impl OriginalRollout<'_> {
    /// What is stored, with an environment that its shapes tell of.
    fn checked(&self) -> CheckedRecord {
        let unbounded = |width| Space::Box {
            low: vec![f32::NEG_INFINITY; width],
            high: vec![f32::INFINITY; width],
        };
        let observation_space = match &self.observations {
            Observations::Frames { shape: FrameShape { height, width, channels }, .. } => {
                Space::Image { height: *height, width: *width, channels: *channels }
            }
            Observations::Vectors(means) => unbounded(means.width),
        };
        let action_width = self.actions.width();
        let environment = EnvSpec {
            id: format!("{UNKNOWN}, with actions of {action_width}"),
            observation_space,
            action_space: unbounded(action_width),
            max_episode_steps: None,
            rules: String::new(),
        };
        let actions = self.actions.values(self.steps, action_width);
        let latents = self.latents();
        CheckedRecord {
            extras: BTreeMap::new(),
            head: Head {
                seed: 0,
                policy: UNKNOWN_POLICY.to_owned(),
                steps: self.steps,
                terminated: self.terminated,
                truncated: !self.terminated,
                format: if latents.is_some() { LATENT } else { FrameFormat::Tensor.name() }
                    .to_owned(),
                shape: environment.observation_space.shape(),
                encoder: None,
                environment,
            },
            actions,
            rewards: self.rewards.first(self.steps),
            latents,
        }
    }
}
