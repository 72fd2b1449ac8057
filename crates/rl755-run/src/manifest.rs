//! What made a directory: program version, resolved config, seed, inputs with their digests.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Digest, RunError, digest_file};

/// The version of the manifest's format.
pub(crate) const MANIFEST_FORMAT: u32 = 1;

/// Whether a stage finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Begun, perhaps interrupted.
    Running,
    /// Every output is in place.
    Complete,
}

/// Something a stage read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Where it was.
    pub path: PathBuf,
    /// The digest of the file, or of the manifest of a directory.
    pub digest: Digest,
}

impl Input {
    /// The input at `path`, a file, with its digest.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_file(path: &Path) -> std::io::Result<Self> {
        Ok(Self { path: path.to_owned(), digest: digest_file(path)? })
    }
}

/// `manifest.json` of a run directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of this file's format, 1.
    pub format: u32,
    /// The program and its version.
    pub made_by: String,
    /// `train-encoder`, `train-sequence`, …
    pub stage: String,
    /// The registered name of what was trained; what was evaluated: `controller linear`.
    pub name: String,
    /// Whether it is done.
    pub status: Status,
    /// The seed everything in the run derives from.
    pub seed: u64,
    /// The resolved config, as the stage's config type writes it.
    pub config: serde_json::Value,
    /// What the stage read.
    pub inputs: Vec<Input>,
    /// Seconds of work so far, over all resumptions.
    pub seconds: f64,
    /// What came out, by name: final losses, scores.
    #[serde(default)]
    pub results: serde_json::Map<String, serde_json::Value>,
    /// Whether the first steps are the same when more are asked for, so that a run may be extended.
    /// Not stored.
    #[serde(skip)]
    pub extendable: bool,
}

impl Manifest {
    /// The manifest of a run that begins.
    pub fn begin(
        stage: &str,
        name: &str,
        seed: u64,
        config: serde_json::Value,
        inputs: Vec<Input>,
    ) -> Self {
        Self {
            format: MANIFEST_FORMAT,
            made_by: format!("rl755 {}", env!("CARGO_PKG_VERSION")),
            stage: stage.to_owned(),
            name: name.to_owned(),
            status: Status::Running,
            seed,
            config,
            inputs,
            seconds: 0.0,
            results: serde_json::Map::new(),
            extendable: false,
        }
    }

    /// The config, of the type that the stage writes; the manifest is that of the run in `path`.
    ///
    /// # Errors
    /// When it is of another type.
    pub fn config_of<T: DeserializeOwned>(&self, path: &Path) -> Result<T, RunError> {
        T::deserialize(&self.config).map_err(|error| RunError::Damaged {
            path: path.join("manifest.json"),
            reason: format!("config: {error}"),
        })
    }

    /// Whether `self` asks for the work of `other` and more steps (`training.train_steps` in the
    /// config).
    pub(crate) fn extends(&self, other: &Self) -> bool {
        let steps = |m: &Self| m.config["training"]["train_steps"].as_u64();
        let (Some(more), Some(fewer)) = (steps(self), steps(other)) else { return false };
        let mut longer = other.clone();
        longer.config["training"]["train_steps"] = more.into();
        more > fewer && self.same_work(&longer)
    }

    /// Whether `self` and `other` ask for the same work: the same results must come out.
    pub fn same_work(&self, other: &Self) -> bool {
        let digests = |m: &Self| m.inputs.iter().map(|i| i.digest.clone()).collect::<Vec<_>>();
        self.stage == other.stage
            && self.name == other.name
            && self.seed == other.seed
            && self.config == other.config
            && digests(self) == digests(other)
    }
}
