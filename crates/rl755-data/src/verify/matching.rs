//! Which files a pattern stands for, and what the manifests beside them say.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use super::{Fault, Problem, VerifyError};
use crate::{DatasetManifest, ShardEntry, dataset::parse_manifest};

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
    // What is being written has a hidden name.
    let options =
        glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
    let paths = glob::glob_with(pattern, options).map_err(|e| VerifyError::Pattern {
        pattern: pattern.to_owned(),
        reason: e.msg.to_owned(),
    })?;
    // Unreadable directories below a `**` hold nothing that could be checked.
    Ok(paths.filter_map(Result::ok).filter(|p| p.is_file()).collect())
}

/// The directories of `files`, and the one that `pattern` names.
pub(super) fn directories(files: &[PathBuf], pattern: &str) -> BTreeSet<PathBuf> {
    let named = Some(Path::new(pattern)).filter(|path| path.is_dir());
    let parents = files.iter().filter_map(|file| file.parent());
    // A file without a directory in its name lies in this one.
    let directory = |path: &Path| match path.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => path.to_owned(),
    };
    parents.chain(named).map(directory).collect()
}

/// What the manifests beside the files say.
#[derive(Default)]
pub(super) struct Listed {
    pub(super) shards: BTreeMap<PathBuf, ShardEntry>,
    pub(super) missing: Vec<PathBuf>,
    pub(super) problems: Vec<Problem>,
}

impl Listed {
    /// Reads the manifests in the directories of `files`. Shards in them that `pattern` stands for
    /// and that are not there are missing.
    pub(super) fn beside(files: &[PathBuf], pattern: &str) -> Self {
        let mut listed = Self::default();
        let whole_directory = Path::new(pattern).is_dir();
        let glob = glob::Pattern::new(pattern).ok();
        let asked_for = |file: &Path| {
            whole_directory || glob.as_ref().is_some_and(|glob| glob.matches_path(file))
        };
        for directory in directories(files, pattern) {
            let path = DatasetManifest::path_in(&directory);
            let manifest = match fs::read(&path) {
                Ok(text) => parse_manifest(&text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => Err(error.to_string()),
            };
            match manifest {
                Ok(manifest) => {
                    for shard in manifest.shards {
                        // As the pattern names it.
                        let file = match directory.as_path() == Path::new(".") {
                            true if !pattern.starts_with('.') => PathBuf::from(&shard.file),
                            _ => directory.join(&shard.file),
                        };
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
