//! One process at a time in a run directory.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::Path,
};

/// An advisory lock on a file, held until dropped. The system frees it when the process ends,
/// however it ends.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

impl RunLock {
    /// Takes the lock, or says `None` when another process holds it.
    ///
    /// # Errors
    /// When the file cannot be opened or the file system has no locks.
    pub fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Makes the file, for those who will share the lock.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn prepare(path: &Path) -> io::Result<()> {
        open(path).map(drop)
    }

    /// Takes the lock together with others that share it, which keeps those out that want it alone.
    /// Where there is no such file, no permission or no support for locks, there is none to take:
    /// `Ok(None)`.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when somebody has it alone.
    pub fn try_share(path: &Path) -> io::Result<Option<Self>> {
        let Ok(file) = File::open(path) else { return Ok(None) };
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(_)) => Ok(None),
        }
    }

    /// Takes the lock, waiting for whoever holds it.
    ///
    /// # Errors
    /// When the file cannot be opened or the file system has no locks.
    pub fn take(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        file.lock()?;
        Ok(Self { _file: file })
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_lock_keeps_out_those_who_want_it_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".lock");
        let share = || RunLock::try_share(&path);
        assert!(share().unwrap().is_none(), "there is no file");
        let alone = RunLock::try_take(&path).unwrap().unwrap();
        assert_eq!(share().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(alone);
        let shared = (share().unwrap().unwrap(), share().unwrap().unwrap());
        assert!(RunLock::try_take(&path).unwrap().is_none());
        drop(shared);
        assert!(RunLock::try_take(&path).unwrap().is_some());
    }
}
