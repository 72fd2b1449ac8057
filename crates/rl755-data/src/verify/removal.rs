//! Taking bad files away, so that they can be written again.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rl755_run::{AtomicFile, directory_of, sync_directory};
use serde::{Deserialize, Serialize};

use super::{Fault, Problem, VerifyReport, matching::read_regular};
use crate::{
    DatasetManifest, collect::session::parse_rollout_name, dataset::encoded_part::is_part,
    pack::PACK_LOG,
};

/// What to do with bad files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Removal {
    /// Delete them.
    Delete,
    /// Move them into this directory, which is made where needed. They keep their names, with `.1`,
    /// `.2` and so on after it where there is a file of that name already.
    Quarantine(PathBuf),
}

/// What to do when more than half of the set is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfMostlyBad {
    /// Touch nothing: that is no accident.
    Refuse,
    /// Take the bad files away all the same.
    Remove,
}

/// A file that was taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Where it was.
    pub path: PathBuf,
    /// Where it is now; `None` where it was deleted.
    pub moved_to: Option<PathBuf>,
}

/// What writes a file anew: the stage that wrote it, when it is run again with the same config.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Maker {
    /// [`collect`](crate::collect), with [`once`](crate::CollectConfig::once) set.
    Collecting,
    /// [`pack`](crate::pack).
    Packing,
    /// Encoding: the part that the shard is of.
    Encoding,
}

/// Bad files could not be taken away.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemovalError {
    /// The files were verified without [`exclusive`](crate::VerifyConfig::exclusive), so that others
    /// may have written or opened them since.
    #[error("bad files can only be removed while their datasets are locked")]
    NotLocked,
    /// So many files are bad that it is no accident.
    #[error("{bad} of {files} files are bad, so none was touched: that is no accident")]
    MostlyBad {
        /// Files in which something is wrong.
        bad: usize,
        /// Files that were checked.
        files: u64,
    },
    /// Bad files would be moved to where they are.
    #[error("{} has bad files itself; give another directory", path.display())]
    SameDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
        /// What had been taken away before.
        removed: Vec<Removed>,
    },
}

impl VerifyReport {
    /// Takes the bad files away: all that are there, could be read, and are not just of another
    /// format.
    ///
    /// # Errors
    /// When the datasets are not locked, most files are bad, or the file system says no.
    pub fn remove_bad_files(
        &self,
        removal: &Removal,
        if_mostly_bad: IfMostlyBad,
    ) -> Result<Vec<Removed>, RemovalError> {
        if self.locks.is_none() {
            return Err(RemovalError::NotLocked);
        }
        if self.is_mostly_bad() && if_mostly_bad == IfMostlyBad::Refuse {
            let bad = self.bad_files().len();
            return Err(RemovalError::MostlyBad { bad, files: self.files });
        }
        let bad = self.problems.iter().filter(|p| p.is_known_to_be_bad());
        let paths: BTreeSet<&Path> = bad.map(|p| p.path.as_path()).collect();
        if let Removal::Quarantine(directory) = removal {
            fs::create_dir_all(directory).map_err(|source| RemovalError::Io {
                path: directory.clone(),
                source,
                removed: Vec::new(),
            })?;
            let same = |path: &&Path| is_directly_in(path, directory);
            if paths.iter().any(same) {
                return Err(RemovalError::SameDirectory { path: directory.clone() });
            }
        }
        let remove = |path: &Path| match removal {
            Removal::Delete => fs::remove_file(path).map(|()| None),
            Removal::Quarantine(directory) => move_into(path, directory).map(Some),
        };
        let mut removed = Vec::new();
        let take_all = |removed: &mut Vec<Removed>| {
            for &path in &paths {
                let moved_to = remove(path).map_err(|error| (path, error))?;
                removed.push(Removed { path: path.to_owned(), moved_to });
            }
            let directories: BTreeSet<_> = paths.iter().map(|path| directory_of(path)).collect();
            directories
                .into_iter()
                .try_for_each(|path| sync_directory(path).map_err(|error| (path, error)))
        };
        match take_all(&mut removed) {
            Ok(()) => Ok(removed),
            Err((path, source)) => Err(RemovalError::Io { path: path.to_owned(), source, removed }),
        }
    }

    /// What writes the bad files anew, once they are taken away, and the missing ones. Files that
    /// none of these wrote, as those of the original project, have no part in it.
    pub fn makers(&self) -> BTreeSet<Maker> {
        let due = |p: &&Problem| p.is_known_to_be_bad() || matches!(p.fault, Fault::Missing);
        self.problems.iter().filter(due).filter_map(|p| maker(&p.path)).collect()
    }
}

impl Problem {
    /// Whether the file is there and nothing is lost with it.
    fn is_known_to_be_bad(&self) -> bool {
        match self.fault {
            // Nothing is known of what could not be read: the disk may be away, or permissions
            // lacking. What is not listed may be part of what is being made. Another version of this
            // program reads another format.
            Fault::Missing
            | Fault::NotAFile
            | Fault::NotListed
            | Fault::Unreadable(_)
            | Fault::OtherFormat { .. } => false,
            Fault::Framing(_)
            | Fault::Schema(_)
            | Fault::Empty
            | Fault::NotAsListed { .. }
            | Fault::Manifest(_) => true,
        }
    }
}

/// What wrote the file at `path`; `None` where nothing beside it tells.
fn maker(path: &Path) -> Option<Maker> {
    let name = path.file_name().and_then(|name| name.to_str());
    if name.and_then(parse_rollout_name).is_some() {
        return Some(Maker::Collecting);
    }
    let directory = directory_of(path);
    let manifest = read_regular(&DatasetManifest::path_in(directory)).ok();
    // What else is wrong with it does not matter here.
    let manifest: Option<serde_json::Value> =
        manifest.and_then(|text| serde_json::from_slice(&text).ok());
    match manifest.as_ref().and_then(|manifest| manifest["config"]["stage"].as_str()) {
        Some("pack") => return Some(Maker::Packing),
        Some("encode") => return Some(Maker::Encoding),
        _ => {}
    }
    // Before there is a manifest, there is the log of what was written.
    let parts = directory.join("parts");
    let packed = parts.join(PACK_LOG).exists();
    let encoded = fs::read_dir(parts)
        .is_ok_and(|entries| entries.flatten().any(|entry| is_part(&entry.path())));
    match (packed, encoded) {
        (true, false) => Some(Maker::Packing),
        (false, true) => Some(Maker::Encoding),
        _ => None,
    }
}

/// Moves the file at `path` into `directory` under a name that is free there; gives the new path.
fn move_into(path: &Path, directory: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    for number in 0_u64.. {
        let mut name = name.to_owned();
        if number > 0 {
            name.push(format!(".{number}"));
        }
        let target = directory.join(name);
        match place(path, &target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            placed => {
                placed?;
                let moved = sync_directory(directory).and_then(|()| fs::remove_file(path));
                if moved.is_err() && path.symlink_metadata().is_ok() {
                    // It is still where it was. The first error is the one to tell.
                    let _ = fs::remove_file(&target);
                }
                return moved.map(|()| target);
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Gives `target` what the file at `path` holds, unless something is there already.
fn place(path: &Path, target: &Path) -> io::Result<()> {
    // A second name is taken at once or not at all. Another file system, or one without such names,
    // needs a copy, and so does a link, which would point elsewhere from there.
    if !path.is_symlink() {
        match fs::hard_link(path, target) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
            linked => return linked,
        }
    }
    if target.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let mut copy = AtomicFile::create(&target.with_file_name(&*name))?;
    io::copy(&mut File::open(path)?, &mut copy)?;
    let whole = copy.sync()?;
    match fs::hard_link(whole, target) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // Without second names, the name is taken before it is given, to replace nothing.
            File::create_new(target)?;
            let named = fs::rename(whole, target);
            if named.is_err() {
                // The first error is the one to tell.
                let _ = fs::remove_file(target);
            }
            named
        }
        linked => linked,
    }
}

fn is_directly_in(path: &Path, directory: &Path) -> bool {
    match (fs::canonicalize(directory_of(path)), fs::canonicalize(directory)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
