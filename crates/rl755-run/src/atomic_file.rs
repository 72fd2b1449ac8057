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
/// [`clear_temporaries`](Self::clear_temporaries) removes.
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
    /// When the directory cannot be made or written, or `target` is there and no regular file.
    pub fn create(target: &Path) -> io::Result<Self> {
        // Two threads of a process may write the same target at once.
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let directory = directory_of(target);
        fs::create_dir_all(directory)?;
        let name = target.file_name().and_then(|n| n.to_str()).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} is no file name", target.display()),
            )
        })?;
        // The final name is taken by renaming, which would replace a device or a pipe, too.
        if fs::metadata(target).is_ok_and(|found| !found.is_file()) {
            let message = format!("{} is no regular file", target.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
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

    /// Syncs what has been written and gives the temporary path, so that it can be read back
    /// before the file has its final name.
    ///
    /// # Errors
    /// When the disk is full or fails.
    pub fn sync(&mut self) -> io::Result<&Path> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        Ok(&self.temporary)
    }

    /// Syncs the file and gives it its final name, replacing what was there.
    ///
    /// # Errors
    /// When the disk is full or fails; the target is then untouched.
    pub fn commit(mut self) -> io::Result<()> {
        self.sync()?;
        fs::rename(&self.temporary, &self.target)?;
        self.committed = true;
        sync_directory(directory_of(&self.target))
    }

    /// Removes what killed processes left in `directory` of files and directories that were on
    /// their way to a name that `mine` accepts.
    ///
    /// The caller must hold a lock under which alone these names are written, so that nobody is at
    /// work on them; process ids cannot tell, as another machine may share the directory.
    ///
    /// # Errors
    /// When the directory cannot be listed, or something cannot be removed.
    pub fn clear_temporaries(directory: &Path, mine: impl Fn(&str) -> bool) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if !name.to_str().and_then(target_of).is_some_and(&mine) {
                continue;
            }
            let path = entry.path();
            let removed =
                if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
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

/// Makes what was made, renamed or removed in `directory` durable.
///
/// # Errors
/// When the directory cannot be opened, or the disk fails.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// The directory of a file, which is the current one, `.`, where its path has no other.
pub fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The target's name in a temporary name, `.NAME.PID-N.tmp`.
fn target_of(name: &str) -> Option<&str> {
    let (target, owner) = name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.')?;
    let (pid, count) = owner.split_once('-')?;
    let number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    (number(pid) && number(count)).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_current_directory_have_one_however_they_are_named() {
        for path in ["a", "./a", "*", "./*"] {
            assert_eq!(directory_of(Path::new(path)), Path::new("."), "{path}");
        }
        assert_eq!(directory_of(Path::new("b/c/*")), Path::new("b/c"));
    }

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
    fn a_synced_file_can_be_read_back_before_it_has_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("a.txt");
        let mut file = AtomicFile::create(&target).unwrap();
        file.write_all(b"whole").unwrap();
        assert_eq!(fs::read(file.sync().unwrap()).unwrap(), b"whole");
        assert!(!target.exists());
        file.commit().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"whole");
    }

    #[test]
    fn only_files_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for target in [directory.path(), &socket] {
            let error = write_atomically(target, b"").unwrap_err().to_string();
            assert!(error.ends_with("is no regular file"), "{error}");
        }
    }

    #[test]
    fn only_temporaries_of_the_named_targets_are_cleared() {
        let directory = tempfile::tempdir().unwrap();
        for target in ["mine.txt", "other.txt"] {
            let mut file = AtomicFile::create(&directory.path().join(target)).unwrap();
            file.write_all(b"half").unwrap();
            // As if the process had been killed.
            std::mem::forget(file);
        }
        fs::write(directory.path().join(".hidden.tmp"), b"").unwrap();
        AtomicFile::clear_temporaries(directory.path(), |name| name != "other.txt").unwrap();
        let mut left: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert!(left.len() == 2 && left[0] == ".hidden.tmp", "{left:?}");
        assert!(left[1].starts_with(".other.txt."), "{left:?}");
    }
}
