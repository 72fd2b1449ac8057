//! The models a controller looks through, and which ones they are.

use std::{
    fmt, fs,
    path::{Path, absolute},
};

use rl755_encoder::ObservationEncoder;
use rl755_env::EnvSpec;
use rl755_run::{Checkpoints, Digest, Input, Manifest, digest_file};
use rl755_sequence::SequenceModel;
use serde::{Deserialize, Serialize};

use crate::{ControllerError, ControllerInputs};

/// Which trained model it is: what a controller remembers of the models it was trained with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelIdentity {
    /// Its registered name.
    pub name: String,
    /// The digest of its weights.
    pub digest: Digest,
}

impl fmt::Display for ModelIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = self.digest.to_string();
        write!(f, "{} ({})", self.name, &digest[..digest.len().min(12)])
    }
}

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
    /// Its run directory, as an absolute path, with the digest of its weights.
    pub input: Input,
}

impl<M: ?Sized> LoadedModel<M> {
    /// `model`, as it was loaded from the run in `run`: from that checkpoint, or the newest one.
    ///
    /// # Errors
    /// When the run's manifest or the checkpoint's weights cannot be read.
    pub fn of_run(
        model: Box<M>,
        run: &Path,
        checkpoint: Option<u64>,
    ) -> Result<Self, ControllerError> {
        let file = run.join("manifest.json");
        let text = fs::read(&file).map_err(ControllerError::io(&file))?;
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|e| ControllerError::Checkpoint { path: file, reason: e.to_string() })?;
        let checkpoints = Checkpoints::new(&run.join("checkpoints"));
        let directory = match checkpoint {
            Some(number) => Some(checkpoints.path(number)),
            None => checkpoints.latest().map_err(ControllerError::io(run))?.map(|(_, path)| path),
        };
        let weights = directory
            .ok_or_else(|| ControllerError::Checkpoint {
                path: run.to_owned(),
                reason: "it has no checkpoints".to_owned(),
            })?
            .join("model.safetensors");
        let digest = digest_file(&weights).map_err(ControllerError::io(&weights))?;
        Ok(Self {
            model,
            identity: ModelIdentity { name: manifest.name, digest: digest.clone() },
            // A controller is evaluated from any working directory, not only from this one.
            input: Input { path: absolute(run).map_err(ControllerError::io(run))?, digest },
        })
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rl755_run::write_atomically;

    use super::*;

    #[test]
    fn the_input_of_a_relative_run_is_found_from_elsewhere() {
        let run = tempfile::tempdir().unwrap();
        let manifest = Manifest::begin("train", "vae", 1, serde_json::Value::Null, vec![]);
        let manifest = serde_json::to_vec(&manifest).unwrap();
        write_atomically(&run.path().join("manifest.json"), &manifest).unwrap();
        let checkpoint = Checkpoints::new(&run.path().join("checkpoints")).path(1);
        fs::create_dir_all(&checkpoint).unwrap();
        write_atomically(&checkpoint.join("model.safetensors"), b"weights").unwrap();

        // Up to the root, and down again.
        let here = std::env::current_dir().unwrap();
        let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
        let relative = up.join(run.path().strip_prefix("/").unwrap());
        assert!(relative.is_relative());
        let model = LoadedModel::of_run(Box::new(()), &relative, None).unwrap();
        assert!(model.input.path.is_absolute());
        assert_eq!(model.input.path.canonicalize().unwrap(), run.path().canonicalize().unwrap());
        assert_eq!(model.identity.name, "vae");
    }
}
