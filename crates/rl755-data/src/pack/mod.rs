//! Packing rollouts into the shards of a dataset.

mod collected;
mod error;
mod original_files;
mod progress_log;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rayon::prelude::*;
use rl755_env::EnvSpec;
use rl755_run::{
    AtomicFile, Digest, Input, Interrupt, Progress, RunLock, SettingError, digest_bytes,
};
use serde::{Deserialize, Serialize};

pub use self::error::PackError;
pub(crate) use self::progress_log::PACK_LOG;
use self::{
    collected::Collected, error::io_error, original_files::OriginalFiles, progress_log::ProgressLog,
};
use crate::{
    Dataset, DatasetManifest, EncoderSource, FrameFormat, MANIFEST_FORMAT, ShardEntry, ShardWriter,
    collect::session::open_sessions,
    dataset::LOCK,
    dataset::manifest::{
        MANIFEST_NAME, OtherDataset, made_by, remove_stale_shards, retire_manifest,
    },
    dataset::shard::{check_name, is_shard_of},
    partition::partition,
    record::RecordPosition,
    shard_name, train_and_validation,
};

/// What to do with rollout files that are damaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCorrupt {
    /// Pack nothing. The default.
    #[default]
    Fail,
    /// Leave them out, and say which.
    Skip,
}

/// Rollouts to pack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackInput {
    /// A directory that [`collect`](crate::collect) wrote. Its rollouts are copied as they are.
    RolloutDir(PathBuf),
    /// Files of the original project, raw or encoded.
    Original(OriginalInput),
}

/// Files of the original project, as [`OriginalRollout`](crate::OriginalRollout) reads them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginalInput {
    /// A file, a directory of them, or a pattern such as `DIR/cars.tfrecord*`.
    pub tfrecords: String,
    /// The environment that the rollouts are of, which the files do not say.
    pub environment: EnvSpec,
    /// How frames are stored in the dataset. Default PNG.
    pub frame_format: FrameFormat,
}

/// What to pack, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackConfig {
    /// The rollouts.
    pub input: PackInput,
    /// The directory of the dataset; it holds one.
    pub out_dir: PathBuf,
    /// What the shards are called: `NAME.tfrecord-00003-of-00074`.
    pub out_name: String,
    /// The most rollouts in a shard, at least 1; those of a split are as even as possible. Shards
    /// of 100 to 200 MB are handy.
    pub rollouts_per_tfrecord_file: usize,
    /// Threads, at least 1. The dataset does not depend on it.
    pub parallelism: usize,
    /// The part of the rollouts, the last ones, that are for validation: from 0 to below 1,
    /// default 0.1.
    pub validation_fraction: f64,
    /// What to do with damaged rollouts.
    pub on_corrupt: OnCorrupt,
}

/// What a call to [`pack`] did.
#[derive(Debug)]
pub struct PackReport {
    /// The dataset. Unlike one that is opened, it does not keep others from replacing it.
    pub dataset: Dataset,
    /// Shards that an earlier call had written, with the bytes they should have.
    pub kept: usize,
    /// Shards that this call wrote.
    pub written: usize,
    /// Damaged rollouts that were left out.
    pub skipped: Vec<CorruptRollout>,
    /// Sessions of the rollout directory that were not complete, so that rollouts may be missing.
    pub open_sessions: Vec<u32>,
}

/// A damaged rollout file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorruptRollout {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// Packs rollouts into a dataset.
///
/// Every rollout is checked, and its frames decoded, before anything is written; a shard has its
/// name only after it was read again. The dataset depends on the rollouts and the config alone.
/// Shards that an earlier call with the same rollouts and config wrote are kept, if they still have
/// their bytes; shards of an older dataset of the same name are removed when the new one is
/// complete.
///
/// # Errors
/// When the config makes no sense, there are no rollouts or damaged ones, or the directory cannot
/// be written.
pub fn pack(
    config: &PackConfig,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<PackReport, PackError> {
    check_config(config)?;
    let source: Box<dyn Source + '_> = match &config.input {
        PackInput::RolloutDir(directory) => Box::new(Collected::in_directory(directory)?),
        PackInput::Original(input) => Box::new(OriginalFiles::of(input)?),
    };
    let open_sessions = match &config.input {
        PackInput::RolloutDir(directory) => {
            open_sessions(directory).map_err(io_error(directory))?
        }
        PackInput::Original(_) => Vec::new(),
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(config.parallelism)
        .build()
        .map_err(|e| PackError::Threads(e.to_string()))?;
    // What keeps it from writing is told before all is read; a directory is made only afterwards.
    let early = config.out_dir.is_dir().then(|| lock(&config.out_dir)).transpose()?;
    // Each rollout is read twice: to check it, and to copy it.
    let meter = Meter { progress, reads: AtomicU64::new(0), rollouts: source.len() as u64 };
    progress.set(0, meter.rollouts);
    let checked = pool.install(|| source.check(&meter, interrupt))?;
    if !checked.corrupt.is_empty() && config.on_corrupt == OnCorrupt::Fail {
        return Err(PackError::Corrupt { files: checked.corrupt, total: source.len() });
    }

    let _lock = early.map_or_else(|| lock(&config.out_dir), Ok)?;
    OtherDataset::check(&config.out_dir, &config.out_name, checked.encoder.is_some())?;
    let mine = |name: &str| is_shard_of(&config.out_name, name) || name == MANIFEST_NAME;
    AtomicFile::clear_temporaries(&config.out_dir, mine).map_err(io_error(&config.out_dir))?;

    let mut manifest = plan(config, &checked);
    let log = ProgressLog::of(&config.out_dir, &manifest).map_err(io_error(&config.out_dir))?;
    let chunks = chunks(&checked.sound, &manifest, config.rollouts_per_tfrecord_file);
    let count = chunks.len();
    let shards: Vec<(ShardEntry, bool)> = pool.install(|| {
        let write = |(index, rollouts): (usize, &[InputRollout])| {
            let name = shard_name(&config.out_name, index, count);
            if let Some(entry) = log.kept(&name) {
                meter.add(rollouts.len() as u64);
                return Ok((entry, false));
            }
            let record = |rollout: &InputRollout| {
                if interrupt.is_raised() {
                    return Err(PackError::Interrupted);
                }
                let record = source.framed_record(rollout, &manifest)?;
                meter.add(1);
                Ok(record)
            };
            let entry = write_shard(&config.out_dir, &name, rollouts, record)?;
            log.add(&entry).map_err(io_error(&config.out_dir))?;
            Ok((entry, true))
        };
        chunks.into_par_iter().enumerate().map(write).collect::<Result<_, PackError>>()
    })?;
    let kept = shards.iter().filter(|(_, written)| !written).count();
    manifest.shards = shards.into_iter().map(|(entry, _)| entry).collect();
    manifest.write(&config.out_dir).map_err(io_error(&config.out_dir))?;
    remove_stale_shards(&config.out_dir, &manifest).map_err(io_error(&config.out_dir))?;
    Ok(PackReport {
        kept,
        written: count - kept,
        dataset: Dataset::new(config.out_dir.clone(), manifest, None),
        skipped: checked.corrupt,
        open_sessions,
    })
}

/// Where rollouts come from.
trait Source: Sync {
    /// How many rollouts there are, sound or not.
    fn len(&self) -> usize;

    /// Reads every rollout and tells the sound ones. Where there are none, that is an error.
    fn check(&self, meter: &Meter<'_>, interrupt: &Interrupt) -> Result<Checked, PackError>;

    /// The record of a sound rollout for the dataset that `manifest` describes, in its framing.
    fn framed_record(
        &self,
        rollout: &InputRollout,
        manifest: &DatasetManifest,
    ) -> Result<Vec<u8>, PackError>;
}

/// What checking found.
struct Checked {
    /// In the order of the dataset.
    sound: Vec<InputRollout>,
    corrupt: Vec<CorruptRollout>,
    /// The environment of the sound ones.
    environment: EnvSpec,
    /// What stands for the encoder, where they are encoded.
    encoder: Option<EncoderSource>,
    /// Where they come from.
    input: PathBuf,
    /// The digest of the names and contents of the sound ones.
    digest: Digest,
}

/// A sound rollout.
struct InputRollout {
    path: PathBuf,
    /// Which record of the file it is, and where that lies.
    record: u64,
    position: RecordPosition,
    steps: u32,
    /// The digest of the record, or of the file where that has no other.
    digest: Digest,
}

/// The digest of the names and contents of `rollouts`.
fn digest_of(rollouts: &[InputRollout]) -> Digest {
    let line = |rollout: &InputRollout| {
        let name = rollout.path.file_name().unwrap_or_default();
        format!("{} {} {}\n", rollout.digest, rollout.record, name.display())
    };
    digest_bytes(rollouts.iter().map(line).collect::<String>().as_bytes())
}

/// The dataset's manifest before it has shards.
fn plan(config: &PackConfig, checked: &Checked) -> DatasetManifest {
    let mut settings = serde_json::json!({
        "stage": "pack",
        "rollouts_per_tfrecord_file": config.rollouts_per_tfrecord_file,
        "validation_fraction": config.validation_fraction,
        "on_corrupt": config.on_corrupt,
    });
    if let PackInput::Original(input) = &config.input {
        settings["layout"] = "original".into();
        settings["frame_format"] = serde_json::json!(input.frame_format);
    }
    DatasetManifest {
        format: MANIFEST_FORMAT,
        made_by: made_by(),
        config: settings,
        name: config.out_name.clone(),
        action_width: checked.environment.action_space.width(),
        environment: checked.environment.clone(),
        encoder: checked.encoder.clone(),
        inputs: vec![Input { path: checked.input.clone(), digest: checked.digest.clone() }],
        skipped: checked.corrupt.iter().map(readable).collect(),
        splits: train_and_validation(checked.sound.len(), config.validation_fraction),
        shards: Vec::new(),
    }
}

/// The same with a name that JSON can hold.
fn readable(file: &CorruptRollout) -> CorruptRollout {
    let path = file.path.to_string_lossy().into_owned().into();
    CorruptRollout { path, reason: file.reason.clone() }
}

/// The rollouts of each shard: at most `most`, and within a split as even as possible.
fn chunks<'a>(
    rollouts: &'a [InputRollout],
    manifest: &DatasetManifest,
    most: usize,
) -> Vec<&'a [InputRollout]> {
    let splits = ["train", "validation"].map(|split| &rollouts[manifest.splits[split].clone()]);
    let shards = splits.into_iter().flat_map(|rollouts| {
        let count = rollouts.len().div_ceil(most);
        (0..count).map(move |index| &rollouts[partition(rollouts.len(), count, index)])
    });
    shards.collect()
}

/// Writes the shard called `name` with the records of `rollouts`.
fn write_shard(
    directory: &Path,
    name: &str,
    rollouts: &[InputRollout],
    record: impl Fn(&InputRollout) -> Result<Vec<u8>, PackError>,
) -> Result<ShardEntry, PackError> {
    let path = directory.join(name);
    let mut writer = ShardWriter::create(directory, name).map_err(io_error(directory))?;
    for rollout in rollouts {
        writer.push_framed(&record(rollout)?, rollout.steps).map_err(io_error(&path))?;
    }
    // A manifest must not list a file that is about to become another.
    retire_manifest(directory, name, &writer.digest()).map_err(io_error(directory))?;
    writer.finish().map_err(io_error(&path))
}

/// Locks the directory, which is made where needed.
fn lock(directory: &Path) -> Result<RunLock, PackError> {
    fs::create_dir_all(directory).map_err(io_error(directory))?;
    let path = directory.join(LOCK);
    RunLock::try_take(&path)
        .map_err(io_error(&path))?
        .ok_or_else(|| PackError::Busy { path: directory.to_owned() })
}

/// Counts rollouts over all threads: each is done when it was read twice.
struct Meter<'a> {
    progress: &'a dyn Progress,
    reads: AtomicU64,
    rollouts: u64,
}

impl Meter<'_> {
    fn add(&self, reads: u64) {
        let reads = self.reads.fetch_add(reads, Ordering::SeqCst) + reads;
        self.progress.set(reads / 2, self.rollouts);
    }
}

fn check_config(config: &PackConfig) -> Result<(), SettingError> {
    SettingError::check_not_zero([
        ("rollouts_per_tfrecord_file", config.rollouts_per_tfrecord_file as u64),
        ("parallelism", config.parallelism as u64),
    ])?;
    let fraction = config.validation_fraction;
    if !(0.0..1.0).contains(&fraction) {
        return Err(SettingError::new("validation_fraction", fraction, "from 0 to below 1"));
    }
    check_name(&config.out_name)
}
