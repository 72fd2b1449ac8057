//! Encoded rollouts as records: means and standard deviations of the latents, and extras.

use std::collections::BTreeMap;

use ndarray::Array2;

use crate::{
    DatasetManifest, EncodedRollout, SchemaError, StoredRollout,
    schema::raw_record::{action_and_reward_features, actions_and_rewards},
    schema::{
        Domain, Head, Parsed, check_environment, check_spaces, check_steps, context, extras,
        float_rows, lists, record,
    },
};

pub(crate) const LATENT: &str = "latent";

impl StoredRollout for EncodedRollout {
    fn to_record(&self) -> Result<Vec<u8>, SchemaError> {
        let (steps, width) = (self.steps(), self.latents.ncols());
        check_spaces(&self.environment)?;
        check_steps(steps)?;
        if width == 0 {
            return Err(SchemaError::Shape {
                key: lists::OBSERVATIONS,
                step: None,
                found: "latents without values".to_owned(),
                expected: "a width of at least 1".to_owned(),
            });
        }
        let rows = |key, domain, values| float_rows(key, (steps, width), domain, values);
        let space = &self.environment.action_space;
        let (actions, rewards) =
            action_and_reward_features(space, steps, &self.actions, &self.rewards)?;
        let head = Head {
            environment: self.environment.clone(),
            seed: self.seed,
            policy: self.policy.clone(),
            steps,
            terminated: self.terminated,
            truncated: self.truncated,
            format: LATENT.to_owned(),
            shape: vec![width],
            encoder: Some(self.encoder.clone()),
        };
        let means = rows(lists::OBSERVATIONS, Domain::Finite, self.latents.view())?;
        let std_devs = rows(lists::STD_DEVS, Domain::NotNegative, self.std_devs.view())?;
        let mut sequences = extras::features(&self.extras, steps)?;
        sequences.extend(
            [
                (lists::OBSERVATIONS, means),
                (lists::STD_DEVS, std_devs),
                (lists::ACTIONS, actions),
                (lists::REWARDS, rewards),
            ]
            .map(|(key, values)| (key.to_owned(), values)),
        );
        Ok(record(&head, sequences))
    }

    fn from_record(record: &[u8]) -> Result<Self, SchemaError> {
        from_parsed(Parsed::from_record(record)?)
    }

    fn steps(&self) -> usize {
        EncodedRollout::steps(self)
    }

    fn check_fits(&self, manifest: &DatasetManifest) -> Result<(), SchemaError> {
        check_environment(&self.environment, manifest)?;
        let Some(encoder) = &manifest.encoder else { return Ok(()) };
        let width = self.latents.ncols();
        if width != encoder.latent_width {
            return Err(SchemaError::Misfit {
                what: "latent width",
                found: width.to_string(),
                expected: encoder.latent_width.to_string(),
            });
        }
        expect_extras(&extras::widths(&self.extras), &encoder.extras)?;
        if self.encoder != encoder.digest {
            return Err(SchemaError::Misfit {
                what: "encoder",
                found: self.encoder.to_string(),
                expected: encoder.digest.to_string(),
            });
        }
        Ok(())
    }
}

/// Rejects extras of other names or widths than the dataset's.
pub(crate) fn expect_extras(
    found: &BTreeMap<String, usize>,
    expected: &BTreeMap<String, usize>,
) -> Result<(), SchemaError> {
    if found == expected {
        return Ok(());
    }
    let text = |extras: &BTreeMap<String, usize>| {
        let each: Vec<_> = extras.iter().map(|(name, width)| format!("{name} [{width}]")).collect();
        if each.is_empty() { "none".to_owned() } else { each.join(", ") }
    };
    Err(SchemaError::Misfit {
        what: "list of extras",
        found: text(found),
        expected: text(expected),
    })
}

pub(crate) fn from_parsed(parsed: Parsed<'_>) -> Result<EncodedRollout, SchemaError> {
    let head = &parsed.head;
    if head.format != LATENT {
        return Err(SchemaError::Format { found: head.format.clone(), expected: "`latent`" });
    }
    let &[width @ 1..=usize::MAX] = &head.shape[..] else {
        return Err(SchemaError::Shape {
            key: context::OBSERVATION_SHAPE,
            step: None,
            found: format!("{:?}", head.shape),
            expected: "[n], a width of at least 1".to_owned(),
        });
    };
    let rows = |key, domain| {
        let values = parsed.floats(key, width, domain)?;
        Ok::<_, SchemaError>(
            Array2::from_shape_vec((parsed.head.steps, width), values)
                .expect("floats gave one row of that width per step"),
        )
    };
    let latents = rows(lists::OBSERVATIONS, Domain::Finite)?;
    let std_devs = rows(lists::STD_DEVS, Domain::NotNegative)?;
    let (actions, rewards) = actions_and_rewards(&parsed)?;
    let extras = extras::read(&parsed)?;
    let read = [lists::OBSERVATIONS, lists::STD_DEVS, lists::ACTIONS, lists::REWARDS];
    parsed.check_others(|key| read.contains(&key) || key.starts_with(extras::PREFIX))?;
    let head = parsed.head;
    Ok(EncodedRollout {
        environment: head.environment,
        seed: head.seed,
        policy: head.policy,
        encoder: head
            .encoder
            .ok_or(SchemaError::Missing { key: context::ENCODER, part: "context" })?,
        latents,
        std_devs,
        extras,
        actions,
        rewards,
        terminated: head.terminated,
        truncated: head.truncated,
    })
}
