//! The models a controller looks through, and which ones they are.

use std::path::{Path, absolute};

use rl755_encoder::ObservationEncoder;
use rl755_env::EnvSpec;
use rl755_run::{Input, ModelIdentity};
use rl755_sequence::SequenceModel;
use serde::{Deserialize, Serialize};

use crate::{ControllerError, ControllerInputs};

/// The identities of a world model's parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldModelIdentity {
    /// The encoder.
    pub encoder: ModelIdentity,
    /// The sequence model; none for controllers that see only latents.
    pub sequence: Option<ModelIdentity>,
}

/// A trained model of either kind, with where it came from.
pub struct LoadedModel<M: ?Sized> {
    /// The model.
    pub model: Box<M>,
    /// Which one it is.
    pub identity: ModelIdentity,
    /// Its run directory, as an absolute path, with that digest.
    pub input: Input,
}

impl<M: ?Sized> LoadedModel<M> {
    /// `model`, which is `identity` and was loaded from the run in `run`.
    ///
    /// # Errors
    /// When the working directory, which `run` may be relative to, cannot be told.
    pub fn new(
        model: Box<M>,
        identity: ModelIdentity,
        run: &Path,
    ) -> Result<Self, ControllerError> {
        // A controller is evaluated from any working directory, not only from this one.
        let path = absolute(run).map_err(ControllerError::io(run))?;
        let input = Input { path, digest: identity.digest.clone() };
        Ok(Self { model, identity, input })
    }
}

/// What a controller looks through: an encoder and, unless it acts on latents alone, a sequence
/// model.
pub struct WorldModel {
    /// From observations to latents.
    pub encoder: LoadedModel<dyn ObservationEncoder>,
    /// From latents and actions to hidden states.
    pub sequence: Option<LoadedModel<dyn SequenceModel>>,
}

impl WorldModel {
    /// Which models these are.
    pub fn identity(&self) -> WorldModelIdentity {
        WorldModelIdentity {
            encoder: self.encoder.identity.clone(),
            sequence: self.sequence.as_ref().map(|s| s.identity.clone()),
        }
    }

    /// What a manifest lists as inputs.
    pub fn inputs(&self) -> Vec<Input> {
        let sequence = self.sequence.as_ref().map(|s| s.input.clone());
        std::iter::once(self.encoder.input.clone()).chain(sequence).collect()
    }

    /// What a controller in an environment of `spec` is made for.
    ///
    /// # Errors
    /// When the encoder takes other observations, or the sequence model other latents or actions.
    pub fn controller_inputs(&self, spec: &EnvSpec) -> Result<ControllerInputs, ControllerError> {
        let encoder = &self.encoder.model;
        if *encoder.observation_space() != spec.observation_space {
            return Err(ControllerError::Misfit {
                what: "observation",
                one: spec.id.clone(),
                one_size: spec.observation_space.to_string(),
                other: format!("the encoder {}", self.encoder.identity.name),
                other_size: encoder.observation_space().to_string(),
            });
        }
        if let Some(LoadedModel { model, identity, .. }) = &self.sequence {
            let other = format!("the sequence model {}", identity.name);
            let encoder_name = format!("the encoder {}", self.encoder.identity.name);
            for (what, one, one_size, other_size) in [
                ("latent", encoder_name, encoder.latent_size(), model.latent_size()),
                ("action", spec.id.clone(), spec.action_space.width(), model.action_size()),
            ] {
                if one_size != other_size {
                    let (one_size, other_size) = (one_size.to_string(), other_size.to_string());
                    return Err(ControllerError::Misfit { what, one, one_size, other, other_size });
                }
            }
        }
        Ok(ControllerInputs {
            latent_size: encoder.latent_size(),
            hidden_size: self.sequence.as_ref().map_or(0, |s| s.model.hidden_size()),
            action_space: spec.action_space.clone(),
        })
    }
}
