//! Which files a pattern stands for, and what the manifests beside them say.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::{self, DirEntry},
    io,
    path::{Component, Path, PathBuf},
};

use glob::{MatchOptions, Pattern};
use rl755_run::directory_of;
use serde::de::IgnoredAny;

use super::{Fault, Problem, VerifyError};
use crate::{
    DatasetManifest, ShardEntry,
    dataset::{
        ManifestFault, manifest::MANIFEST_NAME, parse_manifest, shard::is_shard_of,
        shard_log::parse_log,
    },
};

/// What a pattern stands for.
#[derive(Debug, Default)]
pub(crate) struct Matched {
    /// The files, sorted.
    pub(crate) files: Vec<PathBuf>,
    /// Files and directories of which the file system does not say what they are or hold.
    pub(crate) unreadable: Vec<(PathBuf, io::Error)>,
}

impl Matched {
    /// Adds `path` if it is a file. A pipe is none, as it would be waited for; nor is a manifest,
    /// which holds no records.
    fn add(&mut self, path: PathBuf) {
        if path.file_name().is_some_and(|name| name == MANIFEST_NAME) {
            return;
        }
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => self.files.push(path),
            Ok(_) => {}
            // It was removed meanwhile; a link to nothing is still there.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {}
            Err(error) => self.unreadable.push((path, error)),
        }
    }
}

/// The files that `pattern` stands for.
pub(crate) fn matching_files(pattern: &str) -> Result<Matched, VerifyError> {
    let path = Path::new(pattern);
    let mut matched = Matched::default();
    if path.is_file() {
        matched.add(path.to_owned());
        return Ok(matched);
    }
    if path.is_dir() {
        let io = |source| VerifyError::Io { path: path.to_owned(), source };
        for entry in fs::read_dir(path).map_err(io)? {
            let name = entry.map_err(io)?.file_name();
            let text = name.to_string_lossy();
            if text.contains(".tfrecord") && !text.starts_with('.') {
                matched.add(path.join(&name));
            }
        }
        matched.sort();
        return Ok(matched);
    }
    let mut start = PathBuf::new();
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(Part::new(pattern, &name.to_string_lossy())?),
            Component::ParentDir if !parts.is_empty() => parts.push(Part::Name("..".to_owned())),
            Component::CurDir => {}
            part => start.push(part),
        }
    }
    matched.find(&start, &parts);
    matched.sort();
    Ok(matched)
}

/// What a part of a pattern, between separators, stands for.
enum Part {
    /// This very name.
    Name(String),
    /// Names that it matches.
    Names(Pattern),
    /// `**`: a directory and all within it.
    Within,
}

impl Part {
    fn new(pattern: &str, part: &str) -> Result<Self, VerifyError> {
        if part == "**" {
            return Ok(Self::Within);
        }
        if !part.contains(['*', '?', '[']) {
            return Ok(Self::Name(part.to_owned()));
        }
        Pattern::new(part).map(Self::Names).map_err(|error| VerifyError::Pattern {
            pattern: pattern.to_owned(),
            reason: error.msg.to_owned(),
        })
    }
}

impl Matched {
    /// Adds the files within `directory` that `parts` stand for. Names that are no UTF-8 match as
    /// they are displayed; those that begin with a dot, as what is being written has, do so only
    /// where the pattern has the dot, too.
    fn find(&mut self, directory: &Path, parts: &[Part]) {
        let Some((part, rest)) = parts.split_first() else { return };
        let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::default() };
        match part {
            Part::Name(name) => self.go_on(directory.join(name), rest),
            Part::Names(names) => {
                for entry in self.entries(directory) {
                    let name = entry.file_name();
                    if names.matches_with(&name.to_string_lossy(), options) {
                        self.go_on(directory.join(name), rest);
                    }
                }
            }
            Part::Within => {
                self.find(directory, rest);
                for entry in self.entries(directory) {
                    let name = entry.file_name();
                    let hidden = name.to_string_lossy().starts_with('.');
                    // Links may lead in circles.
                    if !hidden && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                        self.find(&directory.join(name), parts);
                    }
                }
            }
        }
    }

    fn go_on(&mut self, path: PathBuf, rest: &[Part]) {
        if rest.is_empty() {
            self.add(path);
        } else if path.is_dir() {
            self.find(&path, rest);
        }
    }

    fn entries(&mut self, directory: &Path) -> Vec<DirEntry> {
        let here = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        match fs::read_dir(here).and_then(Iterator::collect) {
            Ok(entries) => entries,
            Err(error) => {
                self.unreadable.push((here.to_owned(), error));
                Vec::new()
            }
        }
    }

    fn sort(&mut self) {
        self.files.sort_unstable();
        self.files.dedup();
        self.unreadable.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        self.unreadable.dedup_by(|(one, _), (other, _)| one == other);
    }
}

/// What the file at `path` holds. What is no regular file is not waited for.
pub(super) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() {
        return fs::read(path);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
}

/// The directories of `files`, and the one that `pattern` names or has its files in.
pub(super) fn directories(files: &[PathBuf], pattern: &str) -> BTreeSet<PathBuf> {
    let pattern = Path::new(pattern);
    let named = if pattern.is_dir() { pattern } else { directory_of(pattern) };
    let named = Some(named).filter(|directory| directory.is_dir());
    files.iter().map(|file| directory_of(file)).chain(named).map(Path::to_owned).collect()
}

/// What the manifests beside the files say.
#[derive(Default)]
pub(super) struct Listed {
    /// By directory; their shards are below.
    manifests: BTreeMap<PathBuf, DatasetManifest>,
    /// By directory and name.
    shards: BTreeMap<(PathBuf, OsString), ShardEntry>,
    /// Shards without rollouts, of datasets that are not complete.
    empty: BTreeSet<PathBuf>,
    pub(super) missing: Vec<PathBuf>,
    pub(super) problems: Vec<Problem>,
}

impl Listed {
    /// Reads the manifests in the directories of `files`. Shards in them that `pattern` stands for
    /// and that are not there are missing.
    pub(super) fn beside(files: &[PathBuf], pattern: &str) -> Self {
        let mut listed = Self::default();
        let whole_directory = Path::new(pattern).is_dir();
        let glob = Pattern::new(pattern).ok();
        let asked_for = |file: &Path| {
            // A pattern may leave out that it is about this directory.
            let bare = file.strip_prefix(".").unwrap_or(file);
            let matches = |glob: &Pattern| glob.matches_path(file) || glob.matches_path(bare);
            whole_directory || glob.as_ref().is_some_and(matches)
        };
        let is_empty = |file: &&PathBuf| fs::metadata(file).is_ok_and(|found| found.len() == 0);
        let with_empty: BTreeSet<&Path> =
            files.iter().filter(is_empty).map(|file| directory_of(file)).collect();
        for directory in directories(files, pattern) {
            if with_empty.contains(&*directory) {
                listed.empty.extend(logged_as_empty(&directory));
            }
            let path = DatasetManifest::path_in(&directory);
            let manifest = match read_regular(&path) {
                Ok(text) => parse_manifest(&text).map_err(|fault| match fault {
                    ManifestFault::OtherFormat(found) => Fault::OtherFormat { found },
                    ManifestFault::Damaged(reason) => Fault::Manifest(reason),
                }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => Err(Fault::Unreadable(error)),
            };
            match manifest {
                Ok(mut manifest) => {
                    for shard in std::mem::take(&mut manifest.shards) {
                        let file = directory.join(&shard.file);
                        // One that is there, but cannot be read, is not missing.
                        let missing = fs::symlink_metadata(&file)
                            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
                        let other = fs::metadata(&file).is_ok_and(|found| !found.is_file());
                        if missing && asked_for(&file) {
                            listed.missing.push(file);
                        } else if other && asked_for(&file) {
                            let fault = Fault::NotAFile;
                            listed.problems.push(Problem { path: file, place: None, fault });
                        } else {
                            let name = OsString::from(&shard.file);
                            listed.shards.insert((directory.clone(), name), shard);
                        }
                    }
                    listed.manifests.insert(directory, manifest);
                }
                Err(fault) => listed.problems.push(Problem { path, place: None, fault }),
            }
        }
        listed
    }

    /// What is said of the dataset whose shard the file at `path` is by its name.
    pub(super) fn manifest(&self, path: &Path) -> Option<&DatasetManifest> {
        let name = path.file_name()?.to_str()?;
        let manifest = self.manifests.get(directory_of(path))?;
        (is_shard_of(&manifest.name, name) || self.entry(path).is_some()).then_some(manifest)
    }

    /// Whether the file at `path` was written without rollouts.
    pub(super) fn is_empty(&self, path: &Path) -> bool {
        self.empty.contains(path)
    }

    /// What is said of the file at `path`.
    pub(super) fn entry(&self, path: &Path) -> Option<&ShardEntry> {
        self.shards.get(&(directory_of(path).to_owned(), path.file_name()?.to_owned()))
    }
}

/// Shards in `directory` without rollouts, as the logs of what was written there say.
fn logged_as_empty(directory: &Path) -> Vec<PathBuf> {
    let Ok(logs) = fs::read_dir(directory.join("parts")) else { return Vec::new() };
    let logs = logs.flatten().map(|log| log.path());
    logs.filter(|log| log.extension().is_some_and(|extension| extension == "jsonl"))
        .filter_map(|log| parse_log::<IgnoredAny>(&read_regular(&log).ok()?))
        .flat_map(|(_, written)| written.into_values())
        .filter(|shard| shard.bytes == 0)
        .map(|shard| directory.join(shard.file))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_those_of_the_files_and_of_the_pattern() {
        // The tests run in the crate's directory.
        let found = directories(&["src/lib.rs".into(), "a".into()], "./none*");
        assert_eq!(found, [".", "src"].map(PathBuf::from).into());
        assert!(directories(&[], "none/*").is_empty());
    }
}
