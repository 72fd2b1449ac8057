//! Files that appear under their name only when complete.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// A file that is written under a temporary name beside its final one, and takes that name in
/// [`commit`](Self::commit): synced, then renamed. Dropped without commit, it is removed.
///
/// A process that is killed leaves at most a file named `.NAME.PID-N.tmp`, which
/// [`remove_stale`](Self::remove_stale) clears.
#[derive(Debug)]
pub struct AtomicFile {
    writer: BufWriter<File>,
    temporary: PathBuf,
    target: PathBuf,
    committed: bool,
}

impl AtomicFile {
    /// Opens a temporary file beside `target`, making its directory where needed.
    ///
    /// # Errors
    /// When the directory cannot be made or written.
    pub fn create(target: &Path) -> io::Result<Self> {
        // Two threads of a process may write the same target at once.
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let directory = parent(target);
        fs::create_dir_all(directory)?;
        let name = target.file_name().and_then(|n| n.to_str()).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} is no file name", target.display()),
            )
        })?;
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = directory.join(format!(".{name}.{}-{count}.tmp", std::process::id()));
        let file = File::create_new(&temporary).or_else(|error| {
            // A killed process of the same id left this name behind.
            if error.kind() == io::ErrorKind::AlreadyExists {
                File::create(&temporary)
            } else {
                Err(error)
            }
        })?;
        Ok(Self {
            writer: BufWriter::with_capacity(1 << 18, file),
            temporary,
            target: target.to_owned(),
            committed: false,
        })
    }

    /// Syncs the file and gives it its final name, replacing what was there.
    ///
    /// # Errors
    /// When the disk is full or fails; the target is then untouched.
    pub fn commit(mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        fs::rename(&self.temporary, &self.target)?;
        self.committed = true;
        sync_directory(parent(&self.target))
    }

    /// Removes temporary files in `directory` that processes no longer running left behind.
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn remove_stale(directory: &Path) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            let owner = name.to_str().and_then(owner);
            // Only Linux says cheaply whether a process lives; elsewhere the files stay.
            if owner.is_some_and(|pid| {
                Path::new("/proc/self").exists()
                    && pid != std::process::id()
                    && !Path::new("/proc").join(pid.to_string()).exists()
            }) {
                let path = entry.path();
                if path.is_dir() {
                    let _ = fs::remove_dir_all(path);
                } else {
                    let _ = fs::remove_file(path);
                }
            }
        }
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.committed {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Writes `bytes` to `target` through an [`AtomicFile`].
///
/// # Errors
/// When the file cannot be written; the target is then untouched.
pub fn write_atomically(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(target)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Makes a rename in `directory` durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The process id in a temporary name `.NAME.PID-N.tmp`.
fn owner(name: &str) -> Option<u32> {
    let middle = name.strip_prefix('.')?.strip_suffix(".tmp")?;
    let (pid, count) = middle.rsplit('.').next()?.split_once('-')?;
    count.parse::<u64>().ok()?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_file_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a.txt");
        let mut file = AtomicFile::create(&target).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_committed_file_has_its_name_and_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("sub/a.txt");
        write_atomically(&target, b"old").unwrap();
        write_atomically(&target, b"new").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn stale_files_of_dead_processes_are_removed_and_others_kept() {
        let directory = tempfile::tempdir().unwrap();
        let dead = directory.path().join(format!(".a.{}-0.tmp", u32::MAX));
        let other = directory.path().join(".hidden.tmp");
        fs::write(&dead, b"").unwrap();
        fs::write(&other, b"").unwrap();
        AtomicFile::remove_stale(directory.path()).unwrap();
        assert!(!dead.exists() || !Path::new("/proc/self").exists());
        assert!(other.exists());
    }
}
