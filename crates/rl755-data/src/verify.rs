//! Finding damaged files among those that a pattern matches.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rayon::prelude::*;
use rl755_run::{Interrupt, Progress, SettingError};

use crate::{
    DatasetManifest, RecordFault, SchemaError, ShardEntry,
    check::{CheckedFile, RecordProblem, check_file},
    dataset::parse_manifest,
};

/// What [`verify`] found.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Files that were checked, and shards that are missing.
    pub files: u64,
    /// Records in them, sound or not.
    pub records: u64,
    /// Steps in the sound records.
    pub steps: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// What is wrong, in the order of files and offsets.
    pub problems: Vec<Problem>,
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
    #[error("it has {found}, but {} in dataset.json", expected)]
    NotAsListed {
        /// What it has.
        found: String,
        /// What the manifest says.
        expected: String,
    },
    /// The manifest lists a shard that is not there.
    #[error("it is missing, but listed in dataset.json")]
    Missing,
    /// The manifest cannot be understood.
    #[error("{0}")]
    Manifest(String),
    /// The file cannot be read.
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
    /// A request to stop came before all files were checked.
    #[error("interrupted")]
    Interrupted,
    /// The threads could not be started.
    #[error("the threads could not be started: {0}")]
    Threads(String),
    /// A directory cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
}

/// Checks every file that `pattern` matches, on `parallelism` threads: framing, checksums, that
/// each record is a whole rollout with the right shapes and finite numbers, and that frames begin
/// like pictures of the right size. Files that a `dataset.json` beside them lists are compared with
/// it as well.
///
/// `pattern` is a glob such as `data/cars.tfrecord*`, a file, or a directory, which stands for the
/// TFRecords in it.
///
/// # Errors
/// When nothing matches, or `interrupt` is raised. What is wrong with files is in the report.
pub fn verify(
    pattern: &str,
    parallelism: usize,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<VerifyReport, VerifyError> {
    SettingError::check_not_zero([("parallelism", parallelism as u64)])?;
    let files = matching_files(pattern)?;
    let listed = Listed::beside(&files, pattern);
    if files.is_empty() && listed.problems.is_empty() && listed.missing.is_empty() {
        return Err(VerifyError::NothingMatches { pattern: pattern.to_owned() });
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(parallelism)
        .build()
        .map_err(|e| VerifyError::Threads(e.to_string()))?;
    let total = files.len() as u64;
    let done = AtomicU64::new(0);
    progress.set(0, total);
    let check = |path: &PathBuf| {
        if interrupt.is_raised() {
            return Err(VerifyError::Interrupted);
        }
        let checked = check_file(path);
        progress.set(done.fetch_add(1, Ordering::SeqCst) + 1, total);
        Ok(checked)
    };
    let checked: Vec<io::Result<CheckedFile>> =
        pool.install(|| files.par_iter().map(check).collect::<Result<_, _>>())?;
    let mut report = VerifyReport::default();
    for (path, checked) in files.iter().zip(checked) {
        report.add(path, checked, listed.shards.get(path));
    }
    for path in listed.missing {
        report.files += 1;
        report.problems.push(Problem { path, place: None, fault: Fault::Missing });
    }
    report.problems.extend(listed.problems);
    Ok(report)
}

impl VerifyReport {
    fn add(&mut self, path: &Path, checked: io::Result<CheckedFile>, listed: Option<&ShardEntry>) {
        self.files += 1;
        let mut problem = |place, fault| {
            self.problems.push(Problem { path: path.to_owned(), place, fault });
        };
        let file = match checked {
            Ok(file) => file,
            Err(error) => return problem(None, Fault::Unreadable(error)),
        };
        let sound = file.problems.is_empty();
        for (record, offset, what) in file.problems {
            let fault = match what {
                RecordProblem::Framing(fault) => Fault::Framing(fault),
                RecordProblem::Schema(error) => Fault::Schema(error),
            };
            problem(Some((record, offset)), fault);
        }
        match listed {
            // A damaged record says more than that the file differs from the manifest.
            Some(listed) if sound => {
                let differs =
                    |found: String, expected: String| Fault::NotAsListed { found, expected };
                if (file.records, file.bytes) != (listed.rollouts() as u64, listed.bytes) {
                    let text = |records, bytes| format!("{records} records in {bytes} bytes");
                    let found = text(file.records, file.bytes);
                    problem(None, differs(found, text(listed.rollouts() as u64, listed.bytes)));
                } else if file.digest != listed.digest {
                    let text = |digest| format!("the digest {digest}");
                    problem(None, differs(text(&file.digest), text(&listed.digest)));
                }
            }
            None if file.records == 0 && sound => problem(None, Fault::Empty),
            _ => {}
        }
        self.records += file.records;
        self.steps += file.steps;
        self.bytes += file.bytes;
    }
}

/// What the manifests beside the files say.
#[derive(Default)]
struct Listed {
    shards: BTreeMap<PathBuf, ShardEntry>,
    missing: Vec<PathBuf>,
    problems: Vec<Problem>,
}

impl Listed {
    /// Reads the manifest in the directory of each of `files`. Shards in it that `pattern` stands
    /// for and that are not there are missing.
    fn beside(files: &[PathBuf], pattern: &str) -> Self {
        let mut listed = Self::default();
        let whole_directory = Path::new(pattern).is_dir();
        let pattern = glob::Pattern::new(pattern).ok();
        let asked_for = |file: &Path| {
            whole_directory || pattern.as_ref().is_some_and(|pattern| pattern.matches_path(file))
        };
        let directories: BTreeSet<&Path> = files.iter().filter_map(|f| f.parent()).collect();
        for directory in directories {
            let path = DatasetManifest::path_in(directory);
            let manifest = match fs::read(&path) {
                Ok(text) => parse_manifest(&text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => Err(error.to_string()),
            };
            match manifest {
                Ok(manifest) => {
                    for shard in manifest.shards {
                        let file = directory.join(&shard.file);
                        if !file.exists() && asked_for(&file) {
                            listed.missing.push(file);
                        } else {
                            listed.shards.insert(file, shard);
                        }
                    }
                }
                Err(reason) => {
                    let fault = Fault::Manifest(reason);
                    listed.problems.push(Problem { path, place: None, fault });
                }
            }
        }
        listed
    }
}

/// The files that `pattern` stands for, sorted.
pub(crate) fn matching_files(pattern: &str) -> Result<Vec<PathBuf>, VerifyError> {
    let path = Path::new(pattern);
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if path.is_dir() {
        let io = |source| VerifyError::Io { path: path.to_owned(), source };
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(io)? {
            let name = entry.map_err(io)?.file_name();
            let text = name.to_string_lossy();
            let file = path.join(&name);
            // A pipe would be waited for.
            if text.contains(".tfrecord") && !text.starts_with('.') && file.is_file() {
                files.push(file);
            }
        }
        files.sort_unstable();
        return Ok(files);
    }
    let paths = glob::glob(pattern).map_err(|e| VerifyError::Pattern {
        pattern: pattern.to_owned(),
        reason: e.msg.to_owned(),
    })?;
    // Unreadable directories below a `**` hold nothing that could be checked.
    Ok(paths.filter_map(Result::ok).filter(|p| p.is_file()).collect())
}
