//! Checkpoints under the original's numbering: `model-001`, `model-002`, …

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{AtomicFile, atomic_file::sync_directory};

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
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut latest = None;
        for entry in entries {
            let entry = entry?;
            let number = entry
                .file_name()
                .to_str()
                .and_then(|n| n.strip_prefix("model-"))
                .and_then(|n| n.parse().ok());
            if let Some(number) = number
                && latest.as_ref().is_none_or(|(n, _)| number > *n)
            {
                latest = Some((number, entry.path()));
            }
        }
        Ok(latest)
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
        AtomicFile::clear_temporaries(&self.directory, |_| true)?;
        let target = self.path(number);
        let temporary =
            self.directory.join(format!(".model-{number:03}.{}-0.tmp", std::process::id()));
        fs::create_dir(&temporary)?;
        let written = write(&temporary).and_then(|()| Ok(sync_files(&temporary)?));
        if let Err(error) = written {
            remove(&temporary)?;
            return Err(error);
        }
        remove(&target)?;
        fs::rename(&temporary, &target)?;
        sync_directory(&self.directory)?;
        Ok(target)
    }

    /// Removes all checkpoints but the newest `keep`.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn prune(&self, keep: u64) -> io::Result<()> {
        let Some((latest, _)) = self.latest()? else { return Ok(()) };
        for number in 1..=latest.saturating_sub(keep) {
            remove(&self.path(number))?;
        }
        Ok(())
    }
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
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
        checkpoints.prune(2).unwrap();
        assert!(!checkpoints.path(1).exists() && checkpoints.path(999).exists());
    }
}
