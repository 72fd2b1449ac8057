//! Encoded rollouts as records: means and standard deviations of the latents.

use ndarray::Array2;

use crate::{
    DatasetManifest, EncodedRollout, SchemaError, StoredRollout,
    raw_record::{action_and_reward_features, actions_and_rewards},
    schema::{Head, Parsed, check_environment, context, float_features, lists, record},
};

pub(crate) const LATENT: &str = "latent";

impl StoredRollout for EncodedRollout {
    fn to_record(&self) -> Result<Vec<u8>, SchemaError> {
        let (steps, width) = (self.steps(), self.latents.ncols());
        let rows = |key, values: &Array2<f32>| {
            let flat: Vec<f32> = values.iter().copied().collect();
            float_features(key, steps, width, &flat)
        };
        let action_width = self.environment.action_space.width();
        if self.actions.ncols() != action_width {
            return Err(SchemaError::Shape {
                key: lists::ACTIONS,
                step: None,
                found: format!("{:?} floats", self.actions.dim()),
                expected: format!("{:?} floats", (steps, action_width)),
            });
        }
        let (actions, rewards) = action_and_reward_features(steps, &self.actions, &self.rewards)?;
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
        Ok(record(
            &head,
            vec![
                (lists::OBSERVATIONS, rows(lists::OBSERVATIONS, &self.latents)?),
                (lists::STD_DEVS, rows(lists::STD_DEVS, &self.std_devs)?),
                (lists::ACTIONS, actions),
                (lists::REWARDS, rewards),
            ],
        ))
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

pub(crate) fn from_parsed(parsed: Parsed<'_>) -> Result<EncodedRollout, SchemaError> {
    let head = &parsed.head;
    if head.format != LATENT {
        return Err(SchemaError::Format { found: head.format.clone(), expected: "`latent`" });
    }
    let [width] = head.shape[..] else {
        return Err(SchemaError::Shape {
            key: context::OBSERVATION_SHAPE,
            step: None,
            found: format!("{:?}", head.shape),
            expected: "one width".to_owned(),
        });
    };
    let rows = |key| {
        let values = parsed.floats(key, width)?;
        Ok::<_, SchemaError>(
            Array2::from_shape_vec((parsed.head.steps, width), values)
                .expect("floats gave one row of that width per step"),
        )
    };
    let (latents, std_devs) = (rows(lists::OBSERVATIONS)?, rows(lists::STD_DEVS)?);
    let (actions, rewards) = actions_and_rewards(&parsed)?;
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
        actions,
        rewards,
        terminated: head.terminated,
        truncated: head.truncated,
    })
}
