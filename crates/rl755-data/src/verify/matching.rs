//! Which files a pattern stands for, and what the manifests beside them say.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
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

/// The directories of `files`, and the one that `pattern` names or has its files in.
pub(super) fn directories(files: &[PathBuf], pattern: &str) -> BTreeSet<PathBuf> {
    let pattern = Path::new(pattern);
    let named = if pattern.is_dir() { pattern } else { directory_of(pattern) };
    let named = Some(named).filter(|directory| directory.is_dir());
    files.iter().map(|file| directory_of(file)).chain(named).map(Path::to_owned).collect()
}

/// The directory of a file, which is this one where its name says none.
pub(super) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// What the manifests beside the files say.
#[derive(Default)]
pub(super) struct Listed {
    /// By directory and name.
    shards: BTreeMap<(PathBuf, OsString), ShardEntry>,
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
            // A pattern may leave out that it is about this directory.
            let bare = file.strip_prefix(".").unwrap_or(file);
            let matches = |glob: &glob::Pattern| glob.matches_path(file) || glob.matches_path(bare);
            whole_directory || glob.as_ref().is_some_and(matches)
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
                        let file = directory.join(&shard.file);
                        if !file.exists() && asked_for(&file) {
                            listed.missing.push(file);
                        } else {
                            let name = OsString::from(&shard.file);
                            listed.shards.insert((directory.clone(), name), shard);
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

    /// What is said of the file at `path`.
    pub(super) fn entry(&self, path: &Path) -> Option<&ShardEntry> {
        self.shards.get(&(directory_of(path).to_owned(), path.file_name()?.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_this_directory_have_one_however_they_are_named() {
        for path in ["a", "./a", "*", "./*"] {
            assert_eq!(directory_of(Path::new(path)), Path::new("."), "{path}");
        }
        assert_eq!(directory_of(Path::new("b/c/*")), Path::new("b/c"));
        // The tests run in the crate's directory.
        let found = directories(&["src/lib.rs".into(), "a".into()], "./none*");
        assert_eq!(found, [".", "src"].map(PathBuf::from).into());
        assert!(directories(&[], "none/*").is_empty());
    }
}
