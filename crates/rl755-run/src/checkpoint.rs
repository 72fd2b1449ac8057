//! Checkpoints under the original's numbering: `model-001`, `model-002`, …

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{AtomicFile, Digest, RunError, atomic_file::sync_directory, digest_file};

/// The file of a checkpoint with the digests of the others.
const DIGESTS: &str = "digests.json";

/// The file of a checkpoint that keeps it from being pruned.
const KEPT: &str = "kept";

/// The checkpoints of a run: directories that appear under their name only when complete.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    directory: PathBuf,
}

impl Checkpoints {
    /// The checkpoints in `directory`, which need not exist yet.
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Where checkpoint `number` is.
    pub fn path(&self, number: u64) -> PathBuf {
        self.directory.join(format!("model-{number:03}"))
    }

    /// The newest checkpoint's number and directory.
    ///
    /// # Errors
    /// When the directory is there but cannot be read.
    pub fn latest(&self) -> io::Result<Option<(u64, PathBuf)>> {
        Ok(self.numbers()?.last().map(|&number| (number, self.path(number))))
    }

    /// The numbers of all checkpoints, the newest last.
    ///
    /// # Errors
    /// When the directory is there but cannot be read.
    pub fn numbers(&self) -> io::Result<Vec<u64>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|n| n.strip_prefix("model-")?.parse::<u64>().ok());
            numbers.extend(number);
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Keeps the checkpoint in the directory `checkpoint` from being pruned: somebody works with it.
    ///
    /// # Errors
    /// When it is not there or the disk cannot be written.
    pub(crate) fn keep(checkpoint: &Path) -> io::Result<()> {
        fs::write(checkpoint.join(KEPT), "")
    }

    /// Removes all checkpoints but the `newest` ones, `best`, and those that are to be
    /// [kept](Self::keep).
    pub(crate) fn prune(&self, newest: u64, best: Option<u64>) -> io::Result<()> {
        let numbers = self.numbers()?;
        let older = numbers.len().saturating_sub(usize::try_from(newest).unwrap_or(usize::MAX));
        for &number in &numbers[..older] {
            let path = self.path(number);
            if best == Some(number) || path.join(KEPT).exists() {
                continue;
            }
            // A kill in between leaves what the next process or save clears away.
            let going =
                self.directory.join(format!(".model-{number:03}.{}-0.tmp", std::process::id()));
            fs::rename(&path, &going)?;
            // Somebody may have come to work with it at the last moment.
            if going.join(KEPT).exists() {
                fs::rename(&going, &path)?;
                continue;
            }
            // What cannot be removed now, as somebody reads it over a network, is removed next time.
            let _ = remove(&going);
        }
        Ok(())
    }

    /// Saves checkpoint `number`: `write` fills a temporary directory, which then takes the name.
    /// A checkpoint of that number that is already there is replaced.
    ///
    /// # Errors
    /// What `write` returns, or when the disk fails. The directory then holds no such checkpoint,
    /// or the old one.
    pub fn save<E: From<io::Error>>(
        &self,
        number: u64,
        write: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        fs::create_dir_all(&self.directory)?;
        // The run is locked: whatever is on its way here comes from a process that was killed.
        // What cannot be removed, as somebody reads it over a network, is not in the way.
        let _ = AtomicFile::clear_temporaries(&self.directory, |_| true);
        let target = self.path(number);
        let temporary =
            self.directory.join(format!(".model-{number:03}.{}-0.tmp", std::process::id()));
        fs::create_dir(&temporary)?;
        let written = write(&temporary)
            .and_then(|()| Ok(write_digests(&temporary).and_then(|()| sync_files(&temporary))?));
        if let Err(error) = written {
            remove(&temporary)?;
            return Err(error);
        }
        // A kill between any two of these leaves the old checkpoint or the new one, whole.
        let old = self.old(number);
        remove(&old)?;
        if target.exists() {
            fs::rename(&target, &old)?;
        }
        fs::rename(&temporary, &target)?;
        sync_directory(&self.directory)?;
        // What cannot be removed now, as somebody reads it over a network, is removed next time.
        let _ = remove(&old);
        Ok(target)
    }

    /// Checks that the files in the directory `checkpoint` are those that were saved; with `whole`
    /// also that none is missing. Without its list of digests, `digests.json`, there is nothing to
    /// check.
    ///
    /// # Errors
    /// Names the first file that was changed or is missing.
    pub fn check(checkpoint: &Path, whole: bool) -> Result<(), RunError> {
        let list = checkpoint.join(DIGESTS);
        let text = match fs::read(&list) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            text => text.map_err(RunError::io(&list))?,
        };
        let digests: BTreeMap<String, Digest> = serde_json::from_slice(&text)
            .map_err(|e| RunError::Damaged { path: list, reason: e.to_string() })?;
        for (file, digest) in digests {
            let path = checkpoint.join(file);
            let wrong = match digest_file(&path) {
                Ok(found) if found == digest => continue,
                Ok(_) => "it is not the file that was saved",
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if !whole {
                        continue;
                    }
                    "it is missing"
                }
                Err(source) => return Err(RunError::Io { path, source }),
            };
            let reason = format!("{wrong} (without {DIGESTS} beside it, it is used as it is)");
            return Err(RunError::Damaged { path, reason });
        }
        Ok(())
    }

    /// Puts a checkpoint back that was about to be replaced when its process was killed, and clears
    /// away what was on its way. The run must be locked.
    ///
    /// # Errors
    /// When the directory cannot be read or written.
    pub(crate) fn recover(&self) -> io::Result<()> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let _ = AtomicFile::clear_temporaries(&self.directory, |_| true);
        for entry in entries {
            let name = entry?.file_name();
            let number =
                name.to_str().and_then(|n| n.strip_prefix(".model-")?.strip_suffix(".old"));
            let Some(number) = number.and_then(|number| number.parse().ok()) else { continue };
            if self.path(number).exists() {
                remove(&self.old(number))?;
            } else {
                fs::rename(self.old(number), self.path(number))?;
            }
        }
        Ok(())
    }

    /// Where a checkpoint is while another takes its place.
    fn old(&self, number: u64) -> PathBuf {
        self.directory.join(format!(".model-{number:03}.old"))
    }
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write_digests(directory: &Path) -> io::Result<()> {
    let mut digests = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.path().is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            digests.insert(name, digest_file(&entry.path())?);
        }
    }
    fs::write(directory.join(DIGESTS), serde_json::to_vec_pretty(&digests)?)
}

fn sync_files(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        fs::File::open(entry?.path())?.sync_all()?;
    }
    sync_directory(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_save_leaves_no_checkpoint() {
        let directory = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(directory.path());
        let failed = checkpoints.save(1, |path| {
            fs::write(path.join("weights"), b"half")?;
            Err(io::Error::other("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(checkpoints.latest().unwrap(), None);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_latest_is_by_number() {
        let directory = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(directory.path());
        for number in [1, 2, 1000, 999] {
            checkpoints.save(number, |path| fs::write(path.join("n"), number.to_string())).unwrap();
        }
        let (number, path) = checkpoints.latest().unwrap().unwrap();
        assert_eq!((number, path.ends_with("model-1000")), (1000, true));
    }

    #[test]
    fn the_newest_the_best_and_the_kept_stay() {
        let directory = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(directory.path());
        for number in 1..=8 {
            checkpoints.save(number, |path| fs::write(path.join("n"), "1")).unwrap();
        }
        Checkpoints::keep(&checkpoints.path(4)).unwrap();
        checkpoints.prune(2, Some(3)).unwrap();
        assert_eq!(checkpoints.numbers().unwrap(), [3, 4, 7, 8]);
        // Being kept does not damage one.
        Checkpoints::check(&checkpoints.path(4), true).unwrap();
        checkpoints.prune(20, None).unwrap();
        checkpoints.prune(1, None).unwrap();
        assert_eq!(checkpoints.numbers().unwrap(), [4, 8]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_changed_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(directory.path());
        let write = |path: &Path| {
            fs::write(path.join("weights"), "1")?;
            fs::write(path.join("state"), "2")
        };
        let path = checkpoints.save::<io::Error>(1, write).unwrap();
        Checkpoints::check(&path, true).unwrap();
        fs::write(path.join("weights"), "2").unwrap();
        let error = Checkpoints::check(&path, true).unwrap_err().to_string();
        assert!(error.contains("weights is damaged: it is not the file that was saved"), "{error}");
        fs::write(path.join("weights"), "1").unwrap();
        fs::remove_file(path.join("state")).unwrap();
        let error = Checkpoints::check(&path, true).unwrap_err().to_string();
        assert!(error.contains("state is damaged: it is missing"), "{error}");
        Checkpoints::check(&path, false).unwrap();
        fs::remove_file(path.join(DIGESTS)).unwrap();
        Checkpoints::check(&path, true).unwrap();
    }

    #[test]
    fn a_checkpoint_is_replaced_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(directory.path());
        let file = checkpoints.path(1).join("n");
        let save = |text: &'static str| {
            checkpoints.save::<io::Error>(1, |path| fs::write(path.join("n"), text)).unwrap();
        };
        save("old");
        // Killed after the first renaming.
        fs::rename(checkpoints.path(1), checkpoints.old(1)).unwrap();
        checkpoints.recover().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        save("new");
        // Killed while the old one was being removed.
        fs::create_dir(checkpoints.old(1)).unwrap();
        checkpoints.recover().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
