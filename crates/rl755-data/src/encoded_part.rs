//! Encoded datasets written by several processes: each writes the shards of one part, and the one
//! that finishes last writes the dataset's manifest.
//!
//! The rollouts of the source are split into `num_outer_shards * num_sub_shards` shards, in order
//! and as even as possible. Part `outer_shard_index` has `num_sub_shards` of them in a row. So the
//! dataset depends on the product alone: 12 parts of 10 shards give what one part of 120 gives.
//!
//! ```text
//! OUT_DIR/NAME.tfrecord-00003-of-00120
//! OUT_DIR/parts/outer-00003-of-00012.json   what a part has written so far
//! OUT_DIR/dataset.json                      when every part is complete
//! ```

use std::{
    collections::BTreeMap,
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use rl755_run::{AtomicFile, Input, RunLock, SettingError, digest_file, write_atomically};
use serde::{Deserialize, Serialize};

use crate::{
    Dataset, DatasetManifest, EncoderSource, MANIFEST_FORMAT, MANIFEST_NAME, ShardEntry,
    ShardWriter, Split,
    dataset::LOCK,
    manifest::{OtherDataset, made_by, readable_json, remove_stale_shards, retire_manifest},
    partition,
    shard::check_name,
    shard_name,
};

/// Which part of an encoded dataset to write, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartConfig {
    /// The directory of the dataset.
    pub out_dir: PathBuf,
    /// What its shards are called: `NAME.tfrecord-00003-of-00120`.
    pub out_name: String,
    /// Parts in all, at least 1. Default 1.
    pub num_outer_shards: usize,
    /// Which part this is, below `num_outer_shards`. Default 0.
    pub outer_shard_index: usize,
    /// Shards in each part, at least 1. Default 1.
    pub num_sub_shards: usize,
}

/// A part of an encoded dataset could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// A setting that cannot be worked with.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Another process writes this part.
    #[error("another process is at work on part {outer_shard_index} of {num_outer_shards} in {}",
        out_dir.display())]
    Busy {
        /// The dataset's directory.
        out_dir: PathBuf,
        /// Which part.
        outer_shard_index: usize,
        /// Of how many.
        num_outer_shards: usize,
    },
    /// Another process encodes something else into the directory, or reads what is there and would
    /// be replaced.
    #[error("another process writes another encoded dataset into {}, or reads the one there",
        out_dir.display())]
    OtherWork {
        /// The dataset's directory.
        out_dir: PathBuf,
    },
    /// The directory holds another dataset.
    #[error(transparent)]
    OtherDataset(#[from] OtherDataset),
    /// The shard is not the one that was asked for.
    #[error("{file} has {found} rollouts, {expected} were due")]
    WrongCount {
        /// The shard.
        file: String,
        /// Rollouts written.
        found: usize,
        /// Rollouts of its range.
        expected: usize,
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

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> PartError + '_ {
    move |source| PartError::Io { path: path.to_owned(), source }
}

/// One shard of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubShard {
    /// Which of the part's shards it is.
    pub index: usize,
    /// Its file's name.
    pub file: String,
    /// The rollouts it takes, by their index in the source split.
    pub rollouts: Range<usize>,
}

/// `parts/outer-00003-of-00012.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartManifest {
    format: u32,
    plan: Plan,
    /// What has been written; `null` where nothing has been.
    shards: Vec<Option<ShardEntry>>,
}

/// What must be the same for parts to belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    name: String,
    num_outer_shards: usize,
    num_sub_shards: usize,
    source: Input,
    split: String,
    rollouts: usize,
    encoder: EncoderSource,
}

impl Plan {
    /// Paths may differ, as when two machines mount a directory under different names.
    fn same_work(&self, other: &Self) -> bool {
        let key = |p: &Self| {
            (
                p.name.clone(),
                p.num_outer_shards,
                p.num_sub_shards,
                p.source.digest.clone(),
                p.split.clone(),
                p.rollouts,
                p.encoder.name.clone(),
                p.encoder.digest.clone(),
                p.encoder.latent_width,
            )
        };
        key(self) == key(other)
    }
}

/// A part of an encoded dataset that this process writes; locked until dropped.
#[derive(Debug)]
pub struct EncodedPart {
    config: PartConfig,
    source: Split,
    manifest: PartManifest,
    _lock: RunLock,
}

impl EncodedPart {
    /// Begins the part, or goes on with what an earlier process wrote of the same one: shards
    /// whose bytes are what that process recorded are kept.
    ///
    /// # Errors
    /// When the config makes no sense, another process is at work on this part, or the directory
    /// cannot be written.
    pub fn begin(
        config: PartConfig,
        source: Split,
        encoder: EncoderSource,
    ) -> Result<Self, PartError> {
        check_config(&config)?;
        OtherDataset::check(&config.out_dir, &config.out_name, true)?;
        let parts = config.out_dir.join("parts");
        fs::create_dir_all(&parts).map_err(io_error(&parts))?;
        let plan = Plan {
            name: config.out_name.clone(),
            num_outer_shards: config.num_outer_shards,
            num_sub_shards: config.num_sub_shards,
            source: Input {
                path: source.dataset().directory().to_owned(),
                digest: source.dataset().digest(),
            },
            split: source.name().to_owned(),
            rollouts: source.len(),
            encoder,
        };
        let path = part_path(&config.out_dir, config.outer_shard_index, config.num_outer_shards);
        let (lock, found) = claim(&config, &plan, &path)?;
        let mut shards = vec![None; config.num_sub_shards];
        for (kept, shard) in shards.iter_mut().zip(found.shards) {
            *kept = shard.filter(|shard| is_intact(&config.out_dir, shard));
        }
        let manifest = PartManifest { format: MANIFEST_FORMAT, plan, shards };
        let part = Self { config, source, manifest, _lock: lock };
        let mine: Vec<String> = part.sub_shards().into_iter().map(|shard| shard.file).collect();
        AtomicFile::clear_temporaries(&part.config.out_dir, |name| {
            mine.iter().any(|file| file == name)
        })
        .map_err(io_error(&part.config.out_dir))?;
        AtomicFile::clear_temporaries(&parts, |name| path.ends_with(name))
            .map_err(io_error(&parts))?;
        part.write_manifest()?;
        Ok(part)
    }

    /// The rollouts to encode.
    pub fn source(&self) -> &Split {
        &self.source
    }

    /// The part's shards.
    pub fn sub_shards(&self) -> Vec<SubShard> {
        (0..self.config.num_sub_shards)
            .map(|index| {
                let count = self.config.num_outer_shards * self.config.num_sub_shards;
                let shard = self.config.outer_shard_index * self.config.num_sub_shards + index;
                SubShard {
                    index,
                    file: shard_name(&self.config.out_name, shard, count),
                    rollouts: partition(self.source.len(), count, shard),
                }
            })
            .collect()
    }

    /// The shards that are not written yet.
    pub fn remaining(&self) -> Vec<SubShard> {
        let mut shards = self.sub_shards();
        shards.retain(|shard| self.manifest.shards[shard.index].is_none());
        shards
    }

    /// A writer of `shard`, for [`finish_shard`](Self::finish_shard).
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn writer(&self, shard: &SubShard) -> Result<ShardWriter, PartError> {
        ShardWriter::create(&self.config.out_dir, &shard.file)
            .map_err(io_error(&self.config.out_dir))
    }

    /// Gives `shard` its name and records it.
    ///
    /// # Errors
    /// When it has another number of rollouts than its range, or the disk is full.
    pub fn finish_shard(&mut self, shard: &SubShard, writer: ShardWriter) -> Result<(), PartError> {
        if writer.rollouts() != shard.rollouts.len() {
            return Err(PartError::WrongCount {
                file: shard.file.clone(),
                found: writer.rollouts(),
                expected: shard.rollouts.len(),
            });
        }
        let path = self.config.out_dir.join(&shard.file);
        // A manifest must not list a file that is about to become another.
        retire_manifest(&self.config.out_dir, &shard.file, &writer.digest())
            .map_err(io_error(&self.config.out_dir))?;
        let entry = writer.finish().map_err(io_error(&path))?;
        self.manifest.shards[shard.index] = Some(entry);
        self.write_manifest()
    }

    /// Writes the dataset's manifest if every part is complete, and gives the dataset; `None`
    /// where other parts have still to finish.
    ///
    /// # Errors
    /// When the directory cannot be read or written.
    pub fn finish(self) -> Result<Option<Dataset>, PartError> {
        let out_dir = &self.config.out_dir;
        // Parts that finish at the same time take turns, so that the last one sees all others.
        let _turn = take_turn(out_dir)?;
        OtherDataset::check(out_dir, &self.config.out_name, true)?;
        AtomicFile::clear_temporaries(out_dir, |name| name == MANIFEST_NAME)
            .map_err(io_error(out_dir))?;
        let mut shards = Vec::new();
        for outer in 0..self.config.num_outer_shards {
            let path = part_path(out_dir, outer, self.config.num_outer_shards);
            let Some(part) = read_part(&path).filter(|p| p.plan.same_work(&self.manifest.plan))
            else {
                return Ok(None);
            };
            for shard in part.shards {
                let Some(shard) = shard else { return Ok(None) };
                shards.push(shard);
            }
        }
        let plan = &self.manifest.plan;
        let source = self.source.dataset().manifest();
        let splits: BTreeMap<_, _> = match self.source.name() {
            "all" => source.splits.clone(),
            name => [(name.to_owned(), 0..self.source.len())].into(),
        };
        let manifest = DatasetManifest {
            format: MANIFEST_FORMAT,
            made_by: made_by(),
            config: serde_json::json!({
                "stage": "encode",
                "split": plan.split,
                "num_shards": plan.num_outer_shards * plan.num_sub_shards,
            }),
            name: self.config.out_name.clone(),
            environment: source.environment.clone(),
            action_width: source.action_width,
            encoder: Some(plan.encoder.clone()),
            inputs: vec![plan.source.clone()],
            skipped: Vec::new(),
            splits,
            shards,
        };
        manifest.write(out_dir).map_err(io_error(out_dir))?;
        remove_stale_shards(out_dir, &manifest).map_err(io_error(out_dir))?;
        Ok(Some(Dataset::new(out_dir.clone(), manifest, None)))
    }

    fn write_manifest(&self) -> Result<(), PartError> {
        let PartConfig { out_dir, outer_shard_index, num_outer_shards, .. } = &self.config;
        self.manifest.write(&part_path(out_dir, *outer_shard_index, *num_outer_shards))
    }
}

impl PartManifest {
    fn write(&self, path: &Path) -> Result<(), PartError> {
        write_atomically(path, &readable_json(self)).map_err(io_error(path))
    }
}

/// Locks the part whose manifest is at `path`, and gives what was written of it. Parts of other
/// plans must not be at work beside it: their shards would take each other's names.
fn claim(
    config: &PartConfig,
    plan: &Plan,
    path: &Path,
) -> Result<(RunLock, PartManifest), PartError> {
    let out_dir = config.out_dir.clone();
    // In turns, so that of two processes one sees the other.
    let _turn = take_turn(&out_dir)?;
    let lock = RunLock::try_take(&path.with_extension("lock")).map_err(io_error(path))?;
    let Some(lock) = lock else {
        let PartConfig { outer_shard_index, num_outer_shards, .. } = *config;
        return Err(PartError::Busy { out_dir, outer_shard_index, num_outer_shards });
    };
    let parts = out_dir.join("parts");
    for entry in fs::read_dir(&parts).map_err(io_error(&parts))? {
        let other = entry.map_err(io_error(&parts))?.path();
        let is_other = read_part(&other).is_some_and(|part| !part.plan.same_work(plan));
        if is_other && other != path {
            let lock = other.with_extension("lock");
            let Some(_idle) = RunLock::try_take(&lock).map_err(io_error(&lock))? else {
                return Err(PartError::OtherWork { out_dir });
            };
            // Its shards are about to be replaced.
            fs::remove_file(&other).map_err(io_error(&other))?;
        }
    }
    let same = |part: &PartManifest| {
        part.plan.same_work(plan) && part.shards.len() == config.num_sub_shards
    };
    let found = read_part(path).filter(same);
    let reading = out_dir.join(LOCK);
    let dataset = DatasetManifest::path_in(&out_dir);
    if found.is_none() && dataset.exists() {
        // Other work replaces the dataset; the same would give the same shards. From here on nobody
        // opens the old one.
        let Some(_alone) = RunLock::try_take(&reading).map_err(io_error(&reading))? else {
            return Err(PartError::OtherWork { out_dir });
        };
        fs::remove_file(&dataset).map_err(io_error(&dataset))?;
    }
    RunLock::prepare(&reading).map_err(io_error(&reading))?;
    let found = found.unwrap_or_else(|| PartManifest {
        format: MANIFEST_FORMAT,
        plan: plan.clone(),
        shards: vec![None; config.num_sub_shards],
    });
    found.write(path)?;
    Ok((lock, found))
}

/// Waits until no other process begins or finishes a part.
fn take_turn(out_dir: &Path) -> Result<RunLock, PartError> {
    let path = out_dir.join("parts").join("merge.lock");
    RunLock::take(&path).map_err(io_error(&path))
}

fn check_config(config: &PartConfig) -> Result<(), SettingError> {
    let PartConfig { num_outer_shards, outer_shard_index, num_sub_shards, .. } = *config;
    SettingError::check_range(
        99_999,
        [("num_outer_shards", num_outer_shards as u64), ("num_sub_shards", num_sub_shards as u64)],
    )?;
    if outer_shard_index >= num_outer_shards {
        let expected = format!("below num_outer_shards, {num_outer_shards}");
        return Err(SettingError::new("outer_shard_index", outer_shard_index, expected));
    }
    check_name(&config.out_name)
}

fn part_path(out_dir: &Path, outer: usize, count: usize) -> PathBuf {
    out_dir.join("parts").join(format!("outer-{outer:05}-of-{count:05}.json"))
}

/// The part's manifest, or `None` where it is missing or was written by another version: its
/// shards are then written again.
fn read_part(path: &Path) -> Option<PartManifest> {
    parse_part(&fs::read(path).ok()?)
}

pub(crate) fn parse_part(text: &[u8]) -> Option<PartManifest> {
    let part: PartManifest = serde_json::from_slice(text).ok()?;
    (part.format == MANIFEST_FORMAT).then_some(part)
}

/// Whether the shard in `directory` has the bytes that its entry says.
pub(crate) fn is_intact(directory: &Path, shard: &ShardEntry) -> bool {
    let path = directory.join(&shard.file);
    fs::metadata(&path).is_ok_and(|m| m.len() == shard.bytes)
        && digest_file(&path).is_ok_and(|digest| digest == shard.digest)
}
