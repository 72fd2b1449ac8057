//! Finding damaged files among those that a pattern matches.

pub(crate) mod check;
mod matching;
mod removal;

use std::{
    collections::BTreeSet,
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rayon::prelude::*;
use rl755_run::{Interrupt, Progress, RunLock, SettingError};
use serde::{Deserialize, Serialize};

pub use self::check::FrameCheck;
use self::matching::{Listed, directories};
pub(crate) use self::matching::{Matched, matching_files};
pub use self::removal::{IfMostlyBad, Maker, Removal, RemovalError, Removed};
use crate::{
    DatasetManifest, MANIFEST_FORMAT, RecordFault, SchemaError, ShardEntry, Statistics,
    dataset::LOCK,
    statistics::Tally,
    verify::check::{CheckedFile, FileChecker, RecordProblem},
};

/// Bytes after which progress is told, so that telling costs nothing.
const TOLD_EVERY: u64 = 1 << 23;

/// What to verify, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyConfig {
    /// The files: a glob such as `data/cars.tfrecord*`, a file, or a directory, which stands for
    /// the TFRecords in it.
    pub pattern: String,
    /// Threads, at least 1. The report does not depend on it. Default 1.
    pub parallelism: usize,
    /// How closely frames are looked at.
    pub frames: FrameCheck,
    /// Whether [statistics](VerifyReport::statistics) are made, too.
    pub statistics: bool,
    /// Whether nobody else may read or write the datasets until the report is dropped, as removing
    /// bad files needs it.
    pub exclusive: bool,
}

impl Default for VerifyConfig {
    fn default() -> Self {
        Self {
            pattern: String::new(),
            parallelism: 1,
            frames: FrameCheck::Structure,
            statistics: false,
            exclusive: false,
        }
    }
}

/// What [`verify`] found.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Files that were checked or could not be, shards that are missing, and manifests in which
    /// something is wrong.
    pub files: u64,
    /// Records in them, sound or not.
    pub records: u64,
    /// Steps in the sound records.
    pub steps: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// What is wrong: with records, in the order of files and offsets; then what could not be
    /// looked at, which shards are missing, and what is wrong with manifests and what has the names
    /// of shards.
    pub problems: Vec<Problem>,
    /// What the sound records hold, for each environment and kind, if it was asked for.
    pub statistics: Vec<Statistics>,
    /// Locks of the datasets; none where they are not locked.
    locks: Option<Vec<RunLock>>,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// The files in which something is wrong.
    pub fn bad_files(&self) -> BTreeSet<&Path> {
        self.problems.iter().map(|p| p.path.as_path()).collect()
    }

    /// Whether more than half of the files are bad: then it is not chance, and what wrote them
    /// should be looked at.
    pub fn is_mostly_bad(&self) -> bool {
        self.bad_files().len() as u64 * 2 > self.files
    }
}

/// Something wrong with a file.
#[derive(Debug)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// Which record, from 0, and the byte its framing begins at; `None` for the file as a whole.
    pub place: Option<(u64, u64)>,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        if let Some((record, offset)) = self.place {
            write!(f, "record {record} at byte {offset}: ")?;
        }
        write!(f, "{}", self.fault)
    }
}

/// What is wrong with a file or a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The record's framing is damaged, or the file ends within it.
    #[error(transparent)]
    Framing(RecordFault),
    /// The record's framing is sound, but it holds no sound rollout.
    #[error(transparent)]
    Schema(SchemaError),
    /// The file has no records.
    #[error("it is empty")]
    Empty,
    /// The file is not what the manifest beside it says: cut off between records, or another one.
    #[error("it has {found}, but {expected} in dataset.json")]
    NotAsListed {
        /// What it has.
        found: String,
        /// What the manifest says.
        expected: String,
    },
    /// The file has the name of a shard of the dataset, whose manifest does not list it.
    #[error("it is not listed in dataset.json")]
    NotListed,
    /// The manifest lists a shard that is not there.
    #[error("it is missing, but listed in dataset.json")]
    Missing,
    /// A directory, a pipe or the like has the name of a shard that the manifest lists.
    #[error("it is no regular file, but listed in dataset.json")]
    NotAFile,
    /// The manifest cannot be understood.
    #[error("{0}")]
    Manifest(String),
    /// The manifest is of another version of the format, which says nothing against it.
    #[error("format {found}; this program reads {MANIFEST_FORMAT}")]
    OtherFormat {
        /// Its format.
        found: u64,
    },
    /// The file or directory cannot be read.
    #[error("{0}")]
    Unreadable(io::Error),
}

/// Nothing could be verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The pattern makes no sense.
    #[error("`{pattern}` is no pattern: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why not.
        reason: String,
    },
    /// No file matches.
    #[error("no file matches `{pattern}`")]
    NothingMatches {
        /// The pattern.
        pattern: String,
    },
    /// There must be at least one thread.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Another process writes a dataset, or reads one that was to be locked.
    #[error("another process reads or writes the dataset in {}", path.display())]
    Busy {
        /// Its directory.
        path: PathBuf,
    },
    /// A request to stop came before all files were checked.
    #[error("interrupted")]
    Interrupted,
    /// The threads could not be started.
    #[error("the threads could not be started: {0}")]
    Threads(String),
    /// A directory cannot be read, or a lock not be taken.
    #[error("{}: {source}", path.display())]
    Io {
        /// The directory or lock.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
}

/// Checks every file that the config's pattern matches: framing, checksums, that each record is a
/// whole rollout with the right shapes and finite numbers, and that frames are whole pictures of the
/// right size. Shards beside a `dataset.json` are compared with it as well.
///
/// Progress is told in bytes.
///
/// # Errors
/// When nothing matches, a dataset is being packed or removed from, one that shall be locked is in
/// use, or `interrupt` is raised. What is wrong with files is in the report.
pub fn verify(
    config: &VerifyConfig,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<VerifyReport, VerifyError> {
    let VerifyConfig { pattern, parallelism, .. } = config;
    SettingError::check_not_zero([("parallelism", *parallelism as u64)])?;
    let matched = matching_files(pattern)?;
    let locks = lock(&directories(&matched.files, pattern), config.exclusive)?;
    // Others may have been at work until now.
    let Matched { files, unreadable } = matching_files(pattern)?;
    let mut listed = Listed::beside(&files, pattern);
    let unreadable = unreadable.into_iter().map(|(path, error)| (path, Fault::Unreadable(error)));
    let missing = listed.missing.iter().map(|path| (path.clone(), Fault::Missing));
    let others: Vec<Problem> = unreadable
        .chain(missing)
        .map(|(path, fault)| Problem { path, place: None, fault })
        .chain(std::mem::take(&mut listed.problems))
        .collect();
    if files.is_empty() && others.is_empty() {
        return Err(VerifyError::NothingMatches { pattern: pattern.clone() });
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(*parallelism)
        .build()
        .map_err(|e| VerifyError::Threads(e.to_string()))?;
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let meter = Meter { progress, total: files.iter().map(size).sum(), done: AtomicU64::new(0) };
    meter.add(0);
    let check = |checker: &mut FileChecker, path: &PathBuf| {
        let mut tally = Tally::of_file(path);
        let mut untold = 0;
        let read = |bytes| {
            untold += bytes;
            // A file ends with a read of nothing.
            if untold >= TOLD_EVERY || bytes == 0 {
                meter.add(std::mem::take(&mut untold));
            }
            if interrupt.is_raised() { Err(io::Error::other("interrupted")) } else { Ok(()) }
        };
        let checked = checker.check(path, read, |record, place| {
            if config.statistics {
                tally.add(record, place);
            }
        });
        (checked, tally)
    };
    let checked: Vec<(io::Result<CheckedFile>, Tally)> = pool
        .install(|| files.par_iter().map_init(|| FileChecker::new(config.frames), check).collect());
    if interrupt.is_raised() {
        return Err(VerifyError::Interrupted);
    }
    let locks = config.exclusive.then_some(locks);
    let mut report = VerifyReport { locks, ..VerifyReport::default() };
    let mut all = Tally::default();
    for (path, (checked, tally)) in files.iter().zip(checked) {
        report.add(path, checked, &listed);
        all.append(tally);
    }
    report.statistics = all.finish();
    report.files += others.len() as u64;
    report.problems.extend(others);
    Ok(report)
}

/// Counts bytes over all threads.
struct Meter<'a> {
    progress: &'a dyn Progress,
    total: u64,
    done: AtomicU64,
}

impl Meter<'_> {
    fn add(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // A file may have grown since.
        self.progress.set(done, self.total.max(done));
    }
}

/// Locks the datasets in `directories`, those that are only being made there included, or shares
/// their locks with other readers.
fn lock(directories: &BTreeSet<PathBuf>, exclusive: bool) -> Result<Vec<RunLock>, VerifyError> {
    let mut locks = Vec::new();
    for directory in directories {
        let path = directory.join(LOCK);
        let busy = || VerifyError::Busy { path: directory.clone() };
        if !exclusive {
            // A pipe would be waited for.
            if path.is_file() {
                locks.extend(RunLock::try_share(&path).map_err(|_| busy())?);
            }
            continue;
        }
        // Rollouts that were collected have no such lock: they appear whole and do not change.
        if !path.exists() && !DatasetManifest::path_in(directory).exists() {
            continue;
        }
        match RunLock::try_take(&path) {
            Ok(Some(lock)) => locks.push(lock),
            Ok(None) => return Err(busy()),
            Err(source) => return Err(VerifyError::Io { path, source }),
        }
    }
    Ok(locks)
}

impl VerifyReport {
    fn add(&mut self, path: &Path, checked: io::Result<CheckedFile>, listed: &Listed) {
        self.files += 1;
        let mut problem = |place, fault| {
            self.problems.push(Problem { path: path.to_owned(), place, fault });
        };
        let file = match checked {
            Ok(file) => file,
            Err(error) => return problem(None, Fault::Unreadable(error)),
        };
        self.records += file.records;
        self.steps += file.steps;
        self.bytes += file.bytes;
        let sound = file.problems.is_empty();
        match (listed.entry(path), listed.manifest(path)) {
            // A damaged record says more than that the file differs from the manifest.
            _ if !sound => {}
            (Some(entry), manifest) => {
                if let Some((found, expected)) = difference(&file, entry) {
                    problem(None, Fault::NotAsListed { found, expected });
                } else if let Some(Err(error)) = manifest.map(|m| file.check_fits(m)) {
                    problem(None, Fault::Schema(error));
                }
            }
            (None, Some(_)) => problem(None, Fault::NotListed),
            (None, None) if file.records == 0 && !listed.is_empty(path) => {
                problem(None, Fault::Empty);
            }
            (None, None) => {}
        }
        for (record, offset, what) in file.problems {
            let fault = match what {
                RecordProblem::Framing(fault) => Fault::Framing(fault),
                RecordProblem::Schema(error) => Fault::Schema(error),
            };
            problem(Some((record, offset)), fault);
        }
    }
}

/// In what a sound file differs from its entry in a manifest: what it has, and what the entry says.
fn difference(file: &CheckedFile, listed: &ShardEntry) -> Option<(String, String)> {
    let counts = |records, bytes| format!("{records} records in {bytes} bytes");
    let found = (counts(file.records, file.bytes), format!("the digest {}", file.digest));
    let expected =
        (counts(listed.rollouts() as u64, listed.bytes), format!("the digest {}", listed.digest));
    if found.0 != expected.0 {
        return Some((found.0, expected.0));
    }
    if found.1 != expected.1 {
        return Some((found.1, expected.1));
    }
    let lengths = file.lengths.iter().zip(&listed.lengths).enumerate();
    let (record, (found, expected)) =
        lengths.into_iter().find(|(_, (found, listed))| **found != u64::from(**listed))?;
    Some((format!("{found} steps in record {record}"), format!("{expected}")))
}
