//! Encoded datasets written by several processes: each writes the shards of one part, and the one
//! that finishes last writes the dataset's manifest.
//!
//! The rollouts of the source are split into `num_outer_shards * num_sub_shards` shards, in order
//! and as even as possible. Part `outer_shard_index` has `num_sub_shards` of them in a row. So the
//! dataset depends on the product alone: 12 parts of 10 shards give what one part of 120 gives.
//!
//! ```text
//! OUT_DIR/NAME.tfrecord-00003-of-00120
//! OUT_DIR/parts/outer-00003-of-00012.jsonl   what a part has written so far
//! OUT_DIR/dataset.json                       when every part is complete
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use rl755_run::{AtomicFile, Input, RunLock, SettingError, digest_file};
use serde::{Deserialize, Serialize};

use crate::{
    Dataset, DatasetManifest, EncoderSource, MANIFEST_FORMAT, ShardEntry, ShardWriter, Split,
    dataset::LOCK,
    dataset::manifest::{
        MANIFEST_NAME, OtherDataset, made_by, remove_stale_shards, retire_manifest,
    },
    dataset::shard::check_name,
    dataset::shard_log::{ShardLog, WrittenShards, parse_log},
    partition::partition,
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
    /// Another process writes something else into the directory, verifies what is there to remove
    /// bad files of it, or reads what would be replaced.
    #[error("another process writes another dataset into {}, or reads or verifies the one there",
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

/// What must be the same for parts to belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    format: u32,
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
                p.encoder.extras.clone(),
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
    plan: Plan,
    written: WrittenShards,
    log: ShardLog,
    /// Keeps out those who would replace the dataset or remove files of it.
    sharing: Option<RunLock>,
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
            format: MANIFEST_FORMAT,
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
        let Claim { lock, sharing, written, log } = claim(&config, &plan)?;
        let mine: BTreeSet<String> =
            sub_shards(&config, source.len()).map(|shard| shard.file).collect();
        AtomicFile::clear_temporaries(&config.out_dir, |name| mine.contains(name))
            .map_err(io_error(&config.out_dir))?;
        Ok(Self { config, source, plan, written, log, sharing, _lock: lock })
    }

    /// The rollouts to encode.
    pub fn source(&self) -> &Split {
        &self.source
    }

    /// The part's shards.
    pub fn sub_shards(&self) -> Vec<SubShard> {
        sub_shards(&self.config, self.source.len()).collect()
    }

    /// The shards that are not written yet.
    pub fn remaining(&self) -> Vec<SubShard> {
        let mut shards = self.sub_shards();
        shards.retain(|shard| !self.written.contains_key(&shard.file));
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
        let log = self.log.add(&entry);
        self.written.insert(shard.file.clone(), entry);
        log.map_err(io_error(&self.config.out_dir.join("parts")))
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
            let Some((_, mut written)) =
                read_part(&path).filter(|(plan, _)| plan.same_work(&self.plan))
            else {
                return Ok(None);
            };
            let config = PartConfig { outer_shard_index: outer, ..self.config.clone() };
            for shard in sub_shards(&config, self.source.len()) {
                let Some(shard) = written.remove(&shard.file) else { return Ok(None) };
                shards.push(shard);
            }
        }
        let plan = &self.plan;
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
        Ok(Some(Dataset::new(out_dir.clone(), manifest, self.sharing)))
    }
}

/// The shards of the part that `config` describes, of `rollouts` rollouts in all parts.
fn sub_shards(config: &PartConfig, rollouts: usize) -> impl Iterator<Item = SubShard> + '_ {
    let count = config.num_outer_shards * config.num_sub_shards;
    (0..config.num_sub_shards).map(move |index| {
        let shard = config.outer_shard_index * config.num_sub_shards + index;
        SubShard {
            index,
            file: shard_name(&config.out_name, shard, count),
            rollouts: partition(rollouts, count, shard),
        }
    })
}

/// A part that this process works on.
struct Claim {
    lock: RunLock,
    sharing: Option<RunLock>,
    /// Shards of it that are there as they were written.
    written: WrittenShards,
    log: ShardLog,
}

/// Locks the part that `config` describes, and begins its log with what was written of it. Parts of
/// other plans must not be at work beside it: their shards would take each other's names.
fn claim(config: &PartConfig, plan: &Plan) -> Result<Claim, PartError> {
    let out_dir = config.out_dir.clone();
    let parts = out_dir.join("parts");
    let path = part_path(&out_dir, config.outer_shard_index, config.num_outer_shards);
    // In turns, so that of two processes one sees the other.
    let _turn = take_turn(&out_dir)?;
    let lock = RunLock::try_take(&path.with_extension("lock")).map_err(io_error(&path))?;
    let Some(lock) = lock else {
        let PartConfig { outer_shard_index, num_outer_shards, .. } = *config;
        return Err(PartError::Busy { out_dir, outer_shard_index, num_outer_shards });
    };
    for entry in fs::read_dir(&parts).map_err(io_error(&parts))? {
        let other = entry.map_err(io_error(&parts))?.path();
        if other == path || !is_part(&other) {
            continue;
        }
        if read_part(&other).is_some_and(|(found, _)| !found.same_work(plan)) {
            let lock = other.with_extension("lock");
            let Some(_idle) = RunLock::try_take(&lock).map_err(io_error(&lock))? else {
                return Err(PartError::OtherWork { out_dir });
            };
            // Its shards are about to be replaced.
            fs::remove_file(&other).map_err(io_error(&other))?;
        }
    }
    let found = read_part(&path).filter(|(found, _)| found.same_work(plan));
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
    let Ok(sharing) = RunLock::try_share(&reading) else {
        return Err(PartError::OtherWork { out_dir });
    };
    let mut written = found.map(|(_, written)| written).unwrap_or_default();
    written.retain(|_, shard| is_intact(&out_dir, shard));
    AtomicFile::clear_temporaries(&parts, |name| path.ends_with(name)).map_err(io_error(&parts))?;
    // Others see from now on what this part does.
    let log = ShardLog::begin(&path, plan, &written).map_err(io_error(&path))?;
    Ok(Claim { lock, sharing, written, log })
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
    out_dir.join("parts").join(format!("outer-{outer:05}-of-{count:05}.jsonl"))
}

/// Whether a file in `parts` is the log of a part.
pub(crate) fn is_part(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("outer-") && name.ends_with(".jsonl"))
}

/// What a part does and has written, or `None` where that is missing or was written by another
/// version: its shards are then written again.
fn read_part(path: &Path) -> Option<(Plan, WrittenShards)> {
    parse_part(&fs::read(path).ok()?)
}

pub(crate) fn parse_part(text: &[u8]) -> Option<(Plan, WrittenShards)> {
    parse_log(text).filter(|(plan, _): &(Plan, _)| plan.format == MANIFEST_FORMAT)
}

/// Whether the shard in `directory` has the bytes that its entry says.
pub(crate) fn is_intact(directory: &Path, shard: &ShardEntry) -> bool {
    let path = directory.join(&shard.file);
    fs::metadata(&path).is_ok_and(|m| m.len() == shard.bytes)
        && digest_file(&path).is_ok_and(|digest| digest == shard.digest)
}
