//! Datasets: a directory of shards and their manifest, opened by path.

pub(crate) mod encoded_part;
pub(crate) mod manifest;
mod registry;
pub(crate) mod shard;
mod shard_files;
pub(crate) mod shard_log;

use std::{
    collections::BTreeMap,
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use rl755_run::{Digest, RunLock, directory_of};

pub use self::{
    encoded_part::{EncodedPart, PartConfig, PartError, SubShard},
    manifest::{DatasetManifest, EncoderSource, MANIFEST_FORMAT, OtherDataset, ShardEntry},
    registry::{DatasetNameError, DatasetRegistry},
    shard::{ShardError, ShardWriter, shard_name},
};
pub(crate) use self::{
    manifest::{ManifestFault, parse_manifest},
    shard_files::read_record_into,
};
use crate::{
    RecordError, SchemaError, StoredRollout,
    dataset::shard_files::ShardFiles,
    record::{RecordPosition, append_positions},
};

/// A dataset could not be opened or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// There is no manifest at the path.
    #[error(
        "{} is no dataset: it has no dataset.json (packing and encoding write it when they are done)",
        path.display()
    )]
    NotADataset {
        /// The path that was given.
        path: PathBuf,
    },
    /// Another process is writing it.
    #[error("another process is writing the dataset in {}", path.display())]
    Busy {
        /// Its directory.
        path: PathBuf,
    },
    /// The manifest is of another version of the format.
    #[error("{}: format {found}; this program reads {MANIFEST_FORMAT}: pack or encode it again",
        path.display())]
    OtherFormat {
        /// The manifest.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
    /// The manifest cannot be understood.
    #[error("{} is damaged: {reason}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The dataset has no split of that name.
    #[error("{} has no split called `{split}`; it has {}", path.display(), known.join(", "))]
    UnknownSplit {
        /// The dataset.
        path: PathBuf,
        /// The name that was asked for.
        split: String,
        /// The names it has.
        known: Vec<String>,
    },
    /// Raw rollouts where latents are needed, or the other way round.
    #[error("{} holds {found} rollouts; {expected} ones are needed", path.display())]
    Kind {
        /// The dataset.
        path: PathBuf,
        /// `raw` or `encoded`.
        found: &'static str,
        /// `raw` or `encoded`.
        expected: &'static str,
    },
    /// A shard does not fit the manifest.
    #[error("{}: {reason}", path.display())]
    Shard {
        /// The shard.
        path: PathBuf,
        /// `3 records, 4 in the manifest`.
        reason: String,
    },
    /// A record of a shard is damaged.
    #[error("{}: {source}", path.display())]
    Record {
        /// The shard.
        path: PathBuf,
        /// What is wrong.
        source: RecordError,
    },
    /// A record of a shard is no rollout of this dataset.
    #[error("{}: record {record}: {source}", path.display())]
    Schema {
        /// The shard.
        path: PathBuf,
        /// Which record, from 0.
        record: usize,
        /// What is wrong; boxed, as it is much larger than other errors.
        source: Box<SchemaError>,
    },
    /// There are too few or too short rollouts for what was asked.
    #[error("{}: {reason}", path.display())]
    TooSmall {
        /// The dataset.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// The file in a dataset's directory that those who read it lock together, and those who replace it
/// alone.
pub(crate) const LOCK: &str = ".lock";

/// An opened dataset. Cheap to clone; shards are opened when they are read. While one that was
/// [opened](Self::open) is held, or one that [`EncodedPart::finish`] gave, no other dataset takes its
/// place.
#[derive(Clone, Debug)]
pub struct Dataset {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    manifest: DatasetManifest,
    /// The first rollout of each shard, and the number of rollouts.
    starts: Vec<usize>,
    /// Where the records of each shard lie, found when first needed.
    indices: Vec<OnceLock<Vec<RecordPosition>>>,
    files: ShardFiles,
    /// Keeps other processes from replacing the dataset.
    _lock: Option<RunLock>,
}

impl Dataset {
    /// Opens the dataset at `path`: its directory, or its `dataset.json`.
    ///
    /// # Errors
    /// When there is no manifest, or it does not describe a dataset that this version can read.
    pub fn open(path: &Path) -> Result<Self, DatasetError> {
        let file = if path.is_file() { path.to_owned() } else { DatasetManifest::path_in(path) };
        let directory = directory_of(&file).to_owned();
        let lock = RunLock::try_share(&directory.join(LOCK))
            .map_err(|_| DatasetError::Busy { path: directory.clone() })?;
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Err(DatasetError::NotADataset { path: path.to_owned() });
            }
            Err(source) => return Err(DatasetError::Io { path: file, source }),
        };
        let manifest = parse_manifest(&text).map_err(|fault| match fault {
            ManifestFault::OtherFormat(found) => DatasetError::OtherFormat { path: file, found },
            ManifestFault::Damaged(reason) => DatasetError::Manifest { path: file, reason },
        })?;
        Ok(Self::new(directory, manifest, lock))
    }

    /// A dataset whose manifest is known to be sound.
    pub(crate) fn new(
        directory: PathBuf,
        manifest: DatasetManifest,
        lock: Option<RunLock>,
    ) -> Self {
        let mut starts = vec![0];
        for shard in &manifest.shards {
            starts.push(starts[starts.len() - 1] + shard.rollouts());
        }
        let indices = manifest.shards.iter().map(|_| OnceLock::new()).collect();
        let files = ShardFiles::default();
        Self { inner: Arc::new(Inner { directory, manifest, starts, indices, files, _lock: lock }) }
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.inner.directory
    }

    /// What it holds and what made it.
    pub fn manifest(&self) -> &DatasetManifest {
        &self.inner.manifest
    }

    /// The digest of what it holds, wherever it lies: what a later stage records as its input.
    pub fn digest(&self) -> Digest {
        self.inner.manifest.content_digest()
    }

    /// How many rollouts it has, over all splits.
    pub fn len(&self) -> usize {
        self.inner.starts[self.inner.starts.len() - 1]
    }

    /// Whether it has no rollouts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it holds latents.
    pub fn is_encoded(&self) -> bool {
        self.inner.manifest.encoder.is_some()
    }

    /// The dataset itself, if it holds raw rollouts.
    ///
    /// # Errors
    /// When it holds encoded ones.
    pub fn expect_raw(&self) -> Result<&Self, DatasetError> {
        self.expect_kind("raw", !self.is_encoded())
    }

    /// The dataset itself, if it holds encoded rollouts.
    ///
    /// # Errors
    /// When it holds raw ones.
    pub fn expect_encoded(&self) -> Result<&Self, DatasetError> {
        self.expect_kind("encoded", self.is_encoded())
    }

    fn expect_kind(&self, expected: &'static str, is: bool) -> Result<&Self, DatasetError> {
        let found = if self.is_encoded() { "encoded" } else { "raw" };
        let path = self.inner.directory.clone();
        if is { Ok(self) } else { Err(DatasetError::Kind { path, found, expected }) }
    }

    /// The split called `name`: `train`, `validation`, or `all` for every rollout.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn split(&self, name: &str) -> Result<Split, DatasetError> {
        let range = match self.inner.manifest.splits.get(name) {
            Some(range) => range.clone(),
            None if name == "all" => 0..self.len(),
            None => {
                let mut known: Vec<String> =
                    self.inner.manifest.splits.keys().map(|k| format!("`{k}`")).collect();
                known.push("`all`".to_owned());
                return Err(DatasetError::UnknownSplit {
                    path: self.inner.directory.clone(),
                    split: name.to_owned(),
                    known,
                });
            }
        };
        Ok(Split { dataset: self.clone(), name: name.to_owned(), range })
    }

    /// The record of rollout `index`, checked against its checksum.
    ///
    /// # Errors
    /// When its shard is damaged or cannot be read.
    ///
    /// # Panics
    /// When there are not that many rollouts.
    pub fn record(&self, index: usize) -> Result<Vec<u8>, DatasetError> {
        let mut buffer = Vec::new();
        self.read_record(index, &mut buffer).map(<[u8]>::to_vec)
    }

    /// As [`record`](Self::record), into a buffer that is used again and again. It becomes as long
    /// as the longest record it was used for, with its framing.
    pub(crate) fn read_record<'b>(
        &self,
        index: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], DatasetError> {
        let (shard, record) = self.locate(index);
        let path = self.shard_path(shard);
        let position = self.positions(shard)?[record];
        let file = match self.inner.files.get(shard, &path) {
            Ok(file) => file,
            Err(source) => return Err(DatasetError::Io { path, source }),
        };
        read_record_into(&file, record as u64, position, buffer)
            .map_err(|source| DatasetError::Record { path, source })
    }

    /// How many steps rollout `index` has, as the manifest says.
    ///
    /// # Panics
    /// When there are not that many rollouts.
    pub fn steps(&self, index: usize) -> usize {
        let (shard, record) = self.locate(index);
        self.inner.manifest.shards[shard].lengths[record] as usize
    }

    /// Rollout `index`.
    ///
    /// # Errors
    /// When its shard is damaged, cannot be read, or holds rollouts of another kind.
    ///
    /// # Panics
    /// When there are not that many rollouts.
    pub fn rollout<R: StoredRollout>(&self, index: usize) -> Result<R, DatasetError> {
        let mut buffer = Vec::new();
        R::from_record(self.read_record(index, &mut buffer)?)
            .and_then(|rollout| {
                rollout.check_fits(self.manifest())?;
                Ok(rollout)
            })
            .map_err(|source| self.schema_error(index, source))
    }

    /// Names the record in which something is wrong.
    pub(crate) fn schema_error(&self, index: usize, source: SchemaError) -> DatasetError {
        let (shard, record) = self.locate(index);
        DatasetError::Schema { path: self.shard_path(shard), record, source: Box::new(source) }
    }

    /// The shard of rollout `index`, and its place in that shard.
    fn locate(&self, index: usize) -> (usize, usize) {
        assert!(index < self.len(), "rollout {index} of {}", self.len());
        // Empty shards begin where the next one begins; the last of them is not empty.
        let shard = self.inner.starts.partition_point(|&start| start <= index) - 1;
        (shard, index - self.inner.starts[shard])
    }

    fn shard_path(&self, shard: usize) -> PathBuf {
        self.inner.directory.join(&self.inner.manifest.shards[shard].file)
    }

    fn positions(&self, shard: usize) -> Result<&[RecordPosition], DatasetError> {
        if let Some(positions) = self.inner.indices[shard].get() {
            return Ok(positions);
        }
        let path = self.shard_path(shard);
        let expected = self.inner.manifest.shards[shard].rollouts();
        // No longer than it has to be, so that what readers need can be told.
        let mut positions = Vec::with_capacity(expected);
        append_positions(&path, &mut positions).map_err(|source| match source {
            RecordError::Io(source) => DatasetError::Io { path: path.clone(), source },
            source => DatasetError::Record { path: path.clone(), source },
        })?;
        if positions.len() != expected {
            let reason = format!("{} records, {expected} in the manifest", positions.len());
            return Err(DatasetError::Shard { path, reason });
        }
        Ok(self.inner.indices[shard].get_or_init(|| positions))
    }
}

/// The ranges of `train` and `validation` when the last `fraction` of `rollouts` validates.
///
/// Where the fraction is above 0 and there are at least two rollouts, both have at least one.
pub fn train_and_validation(rollouts: usize, fraction: f64) -> BTreeMap<String, Range<usize>> {
    let mut validation = (rollouts as f64 * fraction).round() as usize;
    if fraction > 0.0 && rollouts >= 2 {
        validation = validation.clamp(1, rollouts - 1);
    }
    let train = rollouts.saturating_sub(validation);
    [("train".to_owned(), 0..train), ("validation".to_owned(), train..rollouts)].into()
}

/// A range of a dataset's rollouts.
#[derive(Clone, Debug)]
pub struct Split {
    dataset: Dataset,
    name: String,
    range: Range<usize>,
}

impl Split {
    /// The dataset.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// `train`, `validation`, `all`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which of the dataset's rollouts it has.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// How many rollouts it has.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// How many steps rollout `index` of the split has, as the manifest says.
    ///
    /// # Panics
    /// When the split has not that many rollouts.
    pub fn steps(&self, index: usize) -> usize {
        assert!(index < self.len(), "rollout {index} of {}", self.len());
        self.dataset.steps(self.range.start + index)
    }

    /// Refuses a record of rollout `index` of the split that has another number of steps.
    pub(crate) fn check_steps(&self, index: usize, found: usize) -> Result<(), SchemaError> {
        let listed = self.steps(index);
        if found == listed {
            return Ok(());
        }
        Err(SchemaError::Misfit {
            what: "number of steps",
            found: found.to_string(),
            expected: listed.to_string(),
        })
    }

    /// The shards that have rollouts of the split.
    pub(crate) fn shards(&self) -> &[ShardEntry] {
        if self.is_empty() {
            return &[];
        }
        let (first, last) = (self.range.start, self.range.end - 1);
        let shards = self.dataset.locate(first).0..=self.dataset.locate(last).0;
        &self.dataset.manifest().shards[shards]
    }

    /// Rollout `index` of the split.
    ///
    /// # Errors
    /// As [`Dataset::rollout`].
    ///
    /// # Panics
    /// When the split has not that many rollouts.
    pub fn rollout<R: StoredRollout>(&self, index: usize) -> Result<R, DatasetError> {
        assert!(index < self.len(), "rollout {index} of {}", self.len());
        self.dataset.rollout(self.range.start + index)
    }

    /// Its rollouts in order, each read when it is asked for.
    pub fn rollouts<R: StoredRollout>(
        &self,
    ) -> impl ExactSizeIterator<Item = Result<R, DatasetError>> + '_ {
        self.range.clone().map(|index| self.dataset.rollout(index))
    }
}
