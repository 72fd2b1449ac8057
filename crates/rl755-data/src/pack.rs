//! Packing rollout files into the shards of a dataset.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rayon::prelude::*;
use rl755_env::EnvSpec;
use rl755_run::{
    AtomicFile, Digest, Input, Interrupt, Progress, RunLock, SettingError, digest_bytes,
};
use serde::{Deserialize, Serialize};

use crate::{
    Dataset, DatasetManifest, MANIFEST_FORMAT, MANIFEST_NAME, ShardEntry, ShardWriter,
    check::{CheckedFile, check_file},
    collect::rollout_files,
    dataset::LOCK,
    manifest::{OtherDataset, made_by, remove_stale_shards, retire_manifest},
    session::open_sessions,
    shard::{check_name, digest, is_shard_of},
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

/// What to pack, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackConfig {
    /// Where the rollouts are, as collecting wrote them.
    pub rollout_dir: PathBuf,
    /// The directory of the dataset; it holds one.
    pub out_dir: PathBuf,
    /// What the shards are called: `NAME.tfrecord-00003-of-00074`.
    pub out_name: String,
    /// Rollouts in each shard, at least 1; the last one of a split can have fewer. Shards of 100
    /// to 200 MB are handy.
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
    /// The dataset.
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

/// Rollouts could not be packed. No dataset appears then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// A setting that cannot be worked with.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// There are no rollouts in the directory.
    #[error("{} has no rollouts (files called rollout-0000-000000.tfrecord)", path.display())]
    NoRollouts {
        /// The directory.
        path: PathBuf,
    },
    /// Some rollouts are damaged.
    #[error("{} of {total} rollouts are damaged: {}", files.len(), Listed(files))]
    Corrupt {
        /// The damaged ones.
        files: Vec<CorruptRollout>,
        /// How many there are, sound ones included.
        total: usize,
    },
    /// The rollouts are of several environments.
    #[error("{} is a rollout of {found}, but {} is one of {expected}; a dataset has one environment",
        path.display(), first.display())]
    Mixed {
        /// A rollout.
        path: PathBuf,
        /// Its environment.
        found: String,
        /// The first rollout.
        first: PathBuf,
        /// Its environment.
        expected: String,
    },
    /// The directory holds another dataset.
    #[error(transparent)]
    OtherDataset(#[from] OtherDataset),
    /// Another process packs into the directory, or reads the dataset that is there.
    #[error("another process is packing into {}, or reads the dataset there", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// A rollout changed while it was being packed.
    #[error("{} changed while it was being packed", path.display())]
    Changed {
        /// The rollout.
        path: PathBuf,
    },
    /// A shard does not hold what was written to it: the disk or the memory is at fault.
    #[error("{} does not hold what was written to it; the disk or the memory is faulty",
        path.display())]
    NotAsWritten {
        /// The shard, which has been removed.
        path: PathBuf,
    },
    /// It was asked to stop. The shards that are written are kept; the same call goes on.
    #[error("interrupted; the same command goes on where it stopped")]
    Interrupted,
    /// The threads could not be started.
    #[error("the threads could not be started: {0}")]
    Threads(String),
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// The first few of damaged rollouts, for a message.
struct Listed<'a>(&'a [CorruptRollout]);

impl std::fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 5;
        for (i, file) in self.0.iter().take(SHOWN).enumerate() {
            let comma = if i == 0 { "" } else { "; " };
            write!(f, "{comma}{}: {}", file.path.display(), file.reason)?;
        }
        match self.0.len().checked_sub(SHOWN) {
            Some(more) if more > 0 => write!(f, "; and {more} more"),
            _ => Ok(()),
        }
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> PackError {
    let path = path.to_owned();
    move |source| PackError::Io { path, source }
}

/// Packs the rollouts in a directory into a dataset.
///
/// Every rollout is checked before anything is written, and every shard is read again after it.
/// The dataset depends on the rollouts and the config alone. Shards that are there already, with
/// the bytes they should have, are kept; shards of an older dataset of the same name are removed
/// when the new one is complete.
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
    let files = rollout_files(&config.rollout_dir).map_err(io_error(&config.rollout_dir))?;
    if files.is_empty() {
        return Err(PackError::NoRollouts { path: config.rollout_dir.clone() });
    }
    let open_sessions =
        open_sessions(&config.rollout_dir).map_err(io_error(&config.rollout_dir))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(config.parallelism)
        .build()
        .map_err(|e| PackError::Threads(e.to_string()))?;
    // What keeps it from writing is told before all is read; a directory is made only afterwards.
    let early = config.out_dir.is_dir().then(|| lock(&config.out_dir)).transpose()?;
    // Each rollout is read twice: to check it, and to copy it.
    let meter = Meter { progress, reads: AtomicU64::new(0), rollouts: files.len() as u64 };
    progress.set(0, meter.rollouts);
    let (inputs, environment, skipped) =
        pool.install(|| check_inputs(config, &files, &meter, interrupt))?;

    let _lock = early.map_or_else(|| lock(&config.out_dir), Ok)?;
    OtherDataset::check(&config.out_dir, &config.out_name, false)?;
    let mine = |name: &str| is_shard_of(&config.out_name, name) || name == MANIFEST_NAME;
    AtomicFile::clear_temporaries(&config.out_dir, mine).map_err(io_error(&config.out_dir))?;

    let splits = train_and_validation(inputs.len(), config.validation_fraction);
    let chunks: Vec<&[RolloutFile]> = ["train", "validation"]
        .into_iter()
        .flat_map(|split| inputs[splits[split].clone()].chunks(config.rollouts_per_tfrecord_file))
        .collect();
    let count = chunks.len();
    let shards: Vec<(ShardEntry, bool)> = pool.install(|| {
        chunks
            .into_par_iter()
            .enumerate()
            .map(|(index, chunk)| {
                let name = shard_name(&config.out_name, index, count);
                write_shard(config, &name, chunk, &meter, interrupt)
            })
            .collect::<Result<_, _>>()
    })?;
    let written = shards.iter().filter(|(_, written)| *written).count();
    let manifest = DatasetManifest {
        format: MANIFEST_FORMAT,
        made_by: made_by(),
        config: serde_json::json!({
            "stage": "pack",
            "rollouts_per_tfrecord_file": config.rollouts_per_tfrecord_file,
            "validation_fraction": config.validation_fraction,
            "on_corrupt": config.on_corrupt,
        }),
        name: config.out_name.clone(),
        action_width: environment.action_space.width(),
        environment,
        encoder: None,
        inputs: vec![Input { path: config.rollout_dir.clone(), digest: inputs_digest(&inputs) }],
        skipped: skipped.clone(),
        splits,
        shards: shards.into_iter().map(|(entry, _)| entry).collect(),
    };
    manifest.write(&config.out_dir).map_err(io_error(&config.out_dir))?;
    remove_stale_shards(&config.out_dir, &manifest).map_err(io_error(&config.out_dir))?;
    Ok(PackReport {
        kept: manifest.shards.len() - written,
        written,
        dataset: Dataset::new(config.out_dir.clone(), manifest, None),
        skipped,
        open_sessions,
    })
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

/// A sound rollout file.
struct RolloutFile {
    path: PathBuf,
    steps: u32,
    bytes: u64,
    digest: Digest,
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

type Checked = (Vec<RolloutFile>, EnvSpec, Vec<CorruptRollout>);

/// Checks every rollout file; gives the sound ones, their environment and the damaged ones.
fn check_inputs(
    config: &PackConfig,
    files: &[PathBuf],
    meter: &Meter<'_>,
    interrupt: &Interrupt,
) -> Result<Checked, PackError> {
    let checked: Vec<io::Result<CheckedFile>> = files
        .par_iter()
        .map(|path| {
            if interrupt.is_raised() {
                return Err(PackError::Interrupted);
            }
            let checked = check_file(path);
            meter.add(1);
            Ok(checked)
        })
        .collect::<Result<_, _>>()?;
    let mut sound = Vec::new();
    let mut corrupt = Vec::new();
    let mut first: Option<(PathBuf, EnvSpec)> = None;
    for (path, checked) in files.iter().zip(checked) {
        match judge(checked) {
            Ok((file, environment)) => {
                let (first, expected) =
                    first.get_or_insert_with(|| (path.clone(), environment.clone()));
                if environment != *expected {
                    return Err(mixed(path, &environment, first, expected));
                }
                sound.push(RolloutFile {
                    path: path.clone(),
                    steps: u32::try_from(file.steps).expect("a record has fewer than 2³² bytes"),
                    bytes: file.bytes,
                    digest: file.digest,
                });
            }
            Err(reason) => {
                // It will not be copied.
                meter.add(1);
                corrupt.push(CorruptRollout { path: path.clone(), reason });
            }
        }
    }
    match first {
        Some((_, environment)) if corrupt.is_empty() || config.on_corrupt == OnCorrupt::Skip => {
            Ok((sound, environment, corrupt))
        }
        _ => Err(PackError::Corrupt { files: corrupt, total: files.len() }),
    }
}

/// Whether a file holds one sound raw rollout.
fn judge(checked: io::Result<CheckedFile>) -> Result<(CheckedFile, EnvSpec), String> {
    let mut file = checked.map_err(|e| e.to_string())?;
    if let Some((record, offset, problem)) = file.problems.first() {
        return Err(format!("record {record} at byte {offset}: {problem}"));
    }
    match file.environment.take() {
        Some(_) if file.encoded => Err("it holds latents, not observations".to_owned()),
        Some(environment) if file.records == 1 && file.steps > 0 => Ok((file, environment)),
        Some(_) if file.records == 1 => Err("it has no steps".to_owned()),
        _ => Err(format!("it has {} records, not 1", file.records)),
    }
}

fn mixed(path: &Path, found: &EnvSpec, first: &Path, expected: &EnvSpec) -> PackError {
    let same_id = found.id == expected.id;
    let text = |spec: &EnvSpec| {
        if same_id { format!("{} ({})", spec.id, spec.rules) } else { spec.id.clone() }
    };
    PackError::Mixed {
        path: path.to_owned(),
        found: text(found),
        first: first.to_owned(),
        expected: text(expected),
    }
}

/// The digest of the names and contents of all rollouts.
fn inputs_digest(inputs: &[RolloutFile]) -> Digest {
    let text: String = inputs
        .iter()
        .map(|file| {
            let name = file.path.file_name().unwrap_or_default();
            format!("{} {}\n", file.digest, name.display())
        })
        .collect();
    digest_bytes(text.as_bytes())
}

/// Writes the shard called `name`, or keeps it where it is there already; says whether it wrote.
fn write_shard(
    config: &PackConfig,
    name: &str,
    rollouts: &[RolloutFile],
    meter: &Meter<'_>,
    interrupt: &Interrupt,
) -> Result<(ShardEntry, bool), PackError> {
    let path = config.out_dir.join(name);
    if let Some(entry) = read_shard(&path, name, rollouts).map_err(io_error(&path))? {
        meter.add(rollouts.len() as u64);
        return Ok((entry, false));
    }
    let mut writer =
        ShardWriter::create(&config.out_dir, name).map_err(io_error(&config.out_dir))?;
    for rollout in rollouts {
        if interrupt.is_raised() {
            return Err(PackError::Interrupted);
        }
        // A file of one record is copied as it is, framing included.
        let bytes = fs::read(&rollout.path).map_err(io_error(&rollout.path))?;
        if digest_bytes(&bytes) != rollout.digest {
            return Err(PackError::Changed { path: rollout.path.clone() });
        }
        writer.push_framed(&bytes, rollout.steps).map_err(io_error(&path))?;
        meter.add(1);
    }
    // A manifest must not list a file that is about to become another.
    retire_manifest(&config.out_dir, name, &writer.digest()).map_err(io_error(&config.out_dir))?;
    let entry = writer.finish().map_err(io_error(&path))?;
    if read_shard(&path, name, rollouts).map_err(io_error(&path))?.as_ref() != Some(&entry) {
        fs::remove_file(&path).map_err(io_error(&path))?;
        return Err(PackError::NotAsWritten { path });
    }
    Ok((entry, true))
}

/// The entry of the shard at `path` if it holds just `rollouts`, by their digests.
fn read_shard(path: &Path, name: &str, rollouts: &[RolloutFile]) -> io::Result<Option<ShardEntry>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let bytes = rollouts.iter().map(|r| r.bytes).sum();
    if file.metadata()?.len() != bytes {
        return Ok(None);
    }
    let mut hasher = blake3::Hasher::new();
    let mut record = Vec::new();
    for rollout in rollouts {
        record.clear();
        file.by_ref().take(rollout.bytes).read_to_end(&mut record)?;
        if digest_bytes(&record) != rollout.digest {
            return Ok(None);
        }
        hasher.update(&record);
    }
    Ok(Some(ShardEntry {
        file: name.to_owned(),
        lengths: rollouts.iter().map(|r| r.steps).collect(),
        bytes,
        digest: digest(&hasher),
    }))
}
