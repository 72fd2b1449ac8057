//! The models a controller looks through, and which ones they are.

use std::{
    fmt, fs,
    path::{Path, absolute},
};

use rl755_encoder::{ObservationEncoder, encoder_digest};
use rl755_env::EnvSpec;
use rl755_run::{Checkpoints, Digest, Input, Manifest, digest_bytes, digest_file};
use rl755_sequence::{SequenceModel, SequenceRunConfig};
use serde::{Deserialize, Serialize};

use crate::{ControllerError, ControllerInputs};

/// The file of a model's checkpoint with its weights.
const WEIGHTS: &str = "model.safetensors";

/// Which trained model it is: what a controller remembers of the models it was trained with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelIdentity {
    /// Its registered name.
    pub name: String,
    /// The digest of its weights, name and settings.
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
    /// Its run directory, as an absolute path, with that digest.
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
            .join(WEIGHTS);
        let weights = digest_file(&weights).map_err(ControllerError::io(&weights))?;
        // Models without parameters differ in their settings alone.
        let settings = manifest.config.get("model_config").map(ToString::to_string);
        let content = format!("{weights} {} {}", manifest.name, settings.unwrap_or_default());
        let digest = digest_bytes(content.as_bytes());
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

/// The checkpoint of the encoder in `encoder` on whose latents the sequence model in `sequence` was
/// trained: the two belong together, and the latents of another would mean nothing to it.
///
/// # Errors
/// When none of the encoder's checkpoints is that one, or a file cannot be read.
pub fn encoder_checkpoint(encoder: &Path, sequence: &Path) -> Result<u64, ControllerError> {
    let SequenceRunConfig { encoder: name, encoder_digest: digest, .. } =
        SequenceRunConfig::read(sequence)?;
    let checkpoints = Checkpoints::new(&encoder.join("checkpoints"));
    let latest = checkpoints.latest().map_err(ControllerError::io(encoder))?;
    for number in (1..=latest.map_or(0, |(number, _)| number)).rev() {
        if checkpoints.path(number).is_dir() && encoder_digest(encoder, Some(number))? == digest {
            return Ok(number);
        }
    }
    Err(ControllerError::OtherModel {
        dependent: "the sequence model",
        kind: "encoder",
        expected: ModelIdentity { name, digest }.to_string(),
        found: format!("a checkpoint of {}", encoder.display()),
    })
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
        write_atomically(&checkpoint.join(WEIGHTS), b"weights").unwrap();

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
