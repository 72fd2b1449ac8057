//! `dataset.json`: what a dataset directory holds and what made it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Write},
    ops::Range,
    path::{Path, PathBuf},
};

use rl755_env::EnvSpec;
use rl755_run::{Digest, Input, ModelIdentity, digest_bytes, write_atomically};
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, PrettyFormatter};

use crate::{
    CorruptRollout,
    dataset::shard::{is_file_name, is_shard_of},
    schema::check_spaces,
};

/// The name of the manifest in a dataset's directory.
pub(crate) const MANIFEST_NAME: &str = "dataset.json";

/// The fewest bytes of a step in a record: a feature each of an observation, actions and rewards,
/// and each with its field's number and length.
const LEAST_STEP_BYTES: u64 = 6;

/// The version of the manifest's format that this crate writes and reads.
pub const MANIFEST_FORMAT: u32 = 2;

/// What a dataset directory holds.
///
/// A dataset is an ordered list of rollouts, stored one after another in its shards. A split is a
/// range of that list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetManifest {
    /// Version of the manifest's format, [`MANIFEST_FORMAT`].
    pub format: u32,
    /// The program and its version.
    pub made_by: String,
    /// The settings that shaped it: `stage`, and those of the stage's own that its rollouts, shards
    /// and splits depend on. Paths and threads are not among them.
    pub config: serde_json::Value,
    /// What the shards are called: `NAME.tfrecord-00003-of-00074`.
    pub name: String,
    /// The environment of every rollout.
    pub environment: EnvSpec,
    /// Values in an action.
    pub action_width: usize,
    /// What made the latents; `None` for raw rollouts.
    pub encoder: Option<EncoderSource>,
    /// What the rollouts were made from.
    pub inputs: Vec<Input>,
    /// Damaged rollouts of the inputs that were left out.
    pub skipped: Vec<CorruptRollout>,
    /// Ranges of rollouts, by name: `train`, `validation`.
    pub splits: BTreeMap<String, Range<usize>>,
    /// The shards, in order.
    pub shards: Vec<ShardEntry>,
}

/// The encoder whose latents a dataset holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderSource {
    /// The encoder's registered name.
    pub name: String,
    /// The run directory it was loaded from.
    pub path: PathBuf,
    /// The digest of its weights, name and settings.
    pub digest: Digest,
    /// Values in a latent.
    pub latent_width: usize,
    /// What else it says of each observation: names of extras and their widths.
    pub extras: BTreeMap<String, usize>,
}

impl EncoderSource {
    /// Which encoder it is, wherever it was loaded from.
    pub fn identity(&self) -> ModelIdentity {
        ModelIdentity { name: self.name.clone(), digest: self.digest.clone() }
    }
}

/// One shard of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardEntry {
    /// The file's name in the dataset's directory.
    pub file: String,
    /// Steps of each of its rollouts, in order.
    pub lengths: Vec<u32>,
    /// The file's length.
    pub bytes: u64,
    /// The digest of the file.
    pub digest: Digest,
}

impl ShardEntry {
    /// Records in it.
    pub fn rollouts(&self) -> usize {
        self.lengths.len()
    }

    /// Steps in all its rollouts.
    pub fn steps(&self) -> u64 {
        self.lengths.iter().map(|&steps| u64::from(steps)).sum()
    }
}

impl DatasetManifest {
    /// How many rollouts there are, over all shards.
    pub fn rollouts(&self) -> usize {
        self.shards.iter().map(ShardEntry::rollouts).sum()
    }

    /// How many steps there are, over all shards.
    pub fn steps(&self) -> u64 {
        self.shards.iter().map(ShardEntry::steps).sum()
    }

    /// The digest of what the dataset holds: shards, splits and widths, not of where it is or
    /// where its inputs were.
    pub fn content_digest(&self) -> Digest {
        let digests: Vec<_> = self.shards.iter().map(|s| (&s.digest, &s.lengths)).collect();
        let latent_width = self.encoder.as_ref().map(|e| e.latent_width);
        let content = (
            self.format,
            &self.environment,
            self.action_width,
            latent_width,
            &self.splits,
            digests,
        );
        let text = serde_json::to_vec(&content)
            .expect("strings, numbers and lists can always be written as JSON");
        digest_bytes(&text)
    }

    /// Checks what its parts must have to do with each other, and that nobody who believes it takes
    /// more memory than the dataset could fill.
    fn check(&self) -> Result<(), String> {
        check_spaces(&self.environment).map_err(|error| error.to_string())?;
        let width = self.environment.action_space.width();
        if self.action_width != width {
            return Err(format!(
                "action_width {} where the environment has {width}",
                self.action_width
            ));
        }
        let mut files = BTreeSet::new();
        for ShardEntry { file, lengths, bytes, .. } in &self.shards {
            if !is_file_name(file) {
                return Err(format!("shard `{file}` lies outside its directory or is hidden"));
            }
            if !files.insert(file) {
                return Err(format!("shard `{file}` is listed twice"));
            }
            let steps: u64 = lengths.iter().map(|&steps| u64::from(steps)).sum();
            if steps > bytes / LEAST_STEP_BYTES {
                return Err(format!("shard `{file}` has {steps} steps in {bytes} bytes"));
            }
        }
        let count = self.rollouts();
        for (name, Range { start, end }) in &self.splits {
            if start > end || *end > count {
                return Err(format!("split {name} is {start}..{end} of {count} rollouts"));
            }
        }
        Ok(())
    }

    /// The manifest's path in `directory`.
    pub fn path_in(directory: &Path) -> PathBuf {
        directory.join(MANIFEST_NAME)
    }

    /// Writes it into `directory`; until then there is no dataset.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        write_atomically(&Self::path_in(directory), &readable_json(self))
    }
}

/// A manifest does not describe a dataset that this version can read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ManifestFault {
    /// It is of another version of the format, which it names.
    #[error("format {0}; this program reads {MANIFEST_FORMAT}")]
    OtherFormat(u64),
    /// It is no manifest, or contradicts itself.
    #[error("{0}")]
    Damaged(String),
}

/// The manifest in `text`, if it describes a dataset.
pub(crate) fn parse_manifest(text: &[u8]) -> Result<DatasetManifest, ManifestFault> {
    let damaged = |error: serde_json::Error| ManifestFault::Damaged(error.to_string());
    // The format is looked at first, as another format has other fields.
    let value: serde_json::Value = serde_json::from_slice(text).map_err(damaged)?;
    match value.get("format").and_then(serde_json::Value::as_u64) {
        Some(format) if format == u64::from(MANIFEST_FORMAT) => {}
        Some(format) => {
            return Err(ManifestFault::OtherFormat(format));
        }
        None => return Err(ManifestFault::Damaged("it has no format number".to_owned())),
    }
    let manifest: DatasetManifest = serde_json::from_value(value).map_err(damaged)?;
    manifest.check().map_err(ManifestFault::Damaged)?;
    Ok(manifest)
}

/// `value` as JSON with a line for each key, and lists in one line.
pub(crate) fn readable_json(value: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::new();
    let format = ListsInLine(PrettyFormatter::new());
    value
        .serialize(&mut serde_json::Serializer::with_formatter(&mut text, format))
        .expect("strings, numbers and lists can always be written as JSON");
    text
}

/// Breaks lines within objects alone: a line for each of 10,000 lengths helps nobody.
struct ListsInLine(PrettyFormatter<'static>);

impl Formatter for ListsInLine {
    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object(to)
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object(to)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object_value(to)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object_value(to)
    }
}

/// The directory holds a dataset that shall not be replaced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtherDataset {
    /// It has another name or kind.
    #[error("{} already holds the {kind} dataset `{name}`; give another directory", path.display())]
    Known {
        /// The directory.
        path: PathBuf,
        /// `raw` or `encoded`.
        kind: &'static str,
        /// The dataset's name.
        name: String,
    },
    /// It has shards of the name, but nothing says what they are.
    #[error(
        "{} is not from here, and would be replaced; give another directory or another name",
        path.display()
    )]
    Foreign {
        /// One of the shards.
        path: PathBuf,
    },
    /// Nobody can tell which it is.
    #[error(
        "{} has a manifest that this version cannot read: {reason}; give another directory, or \
         remove the manifest", path.display()
    )]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

impl OtherDataset {
    /// Rejects a directory that holds another dataset than the one called `name`, encoded or raw.
    pub(crate) fn check(directory: &Path, name: &str, encoded: bool) -> Result<(), Self> {
        let path = DatasetManifest::path_in(directory);
        let found = match fs::read(&path) {
            Ok(text) => parse_manifest(&text),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Self::check_shards(directory, name);
            }
            Err(error) => Err(ManifestFault::Damaged(error.to_string())),
        };
        match found {
            Ok(found) if found.name != name || found.encoder.is_some() != encoded => {
                let kind = if found.encoder.is_some() { "encoded" } else { "raw" };
                Err(Self::Known { path: directory.to_owned(), kind, name: found.name })
            }
            Ok(_) => Ok(()),
            Err(fault) => {
                Err(Self::Unreadable { path: directory.to_owned(), reason: fault.to_string() })
            }
        }
    }

    /// Rejects a directory without a manifest that has shards called `name` which neither packing
    /// nor encoding wrote: they would be replaced, the very files that are packed among them.
    fn check_shards(directory: &Path, name: &str) -> Result<(), Self> {
        if directory.join("parts").is_dir() {
            return Ok(());
        }
        let files = fs::read_dir(directory).into_iter().flatten().flatten();
        let shard = files
            .map(|file| file.file_name())
            .find(|file| file.to_str().is_some_and(|file| is_shard_of(name, file)));
        match shard {
            Some(file) => Err(Self::Foreign { path: directory.join(file) }),
            None => Ok(()),
        }
    }
}

/// The program and its version, for manifests.
pub(crate) fn made_by() -> String {
    format!("rl755 {}", env!("CARGO_PKG_VERSION"))
}

/// Removes the manifest in `directory` if it lists `file` with another digest, as `file` is about
/// to be replaced.
pub(crate) fn retire_manifest(directory: &Path, file: &str, digest: &Digest) -> io::Result<()> {
    let path = DatasetManifest::path_in(directory);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let keep = parse_manifest(&text).is_ok_and(|manifest| {
        manifest.shards.iter().all(|shard| shard.file != file || shard.digest == *digest)
    });
    if keep {
        return Ok(());
    }
    match fs::remove_file(&path) {
        // Another thread or part was first.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes shards of the dataset's name that its manifest does not list: those of an older plan.
pub(crate) fn remove_stale_shards(directory: &Path, manifest: &DatasetManifest) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let stale = name.to_str().is_some_and(|name| {
            is_shard_of(&manifest.name, name) && manifest.shards.iter().all(|s| s.file != name)
        });
        if stale {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
