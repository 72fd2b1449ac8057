//! Clearing the temporary files of processes that were killed.

use std::{fs, io, path::Path};

/// Removes the temporary files that an [`AtomicFile`](rl755_run::AtomicFile) of a killed process
/// left in `directory`, for targets that `mine` names.
///
/// The caller holds a lock under which alone these targets are written, so nobody is at work on
/// them: not even on another machine that shares the directory, where process ids say nothing.
pub(crate) fn clear_temporaries(directory: &Path, mine: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str().and_then(target).is_some_and(&mine) {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// The target's name in a temporary name, `.NAME.PID-N.tmp`.
fn target(name: &str) -> Option<&str> {
    let (target, owner) = name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.')?;
    let (pid, count) = owner.split_once('-')?;
    let number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    (number(pid) && number(count)).then_some(target)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rl755_run::AtomicFile;

    use super::*;

    #[test]
    fn only_the_named_targets_are_cleared() {
        let directory = tempfile::tempdir().unwrap();
        let open = |name: &str| {
            let mut file = AtomicFile::create(&directory.path().join(name)).unwrap();
            file.write_all(b"half").unwrap();
            // As if the process had been killed.
            std::mem::forget(file);
        };
        open("mine-1.tfrecord");
        open("other-1.tfrecord");
        clear_temporaries(directory.path(), |name| name.starts_with("mine-")).unwrap();
        let left: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(left.len() == 1 && left[0].starts_with(".other-1"), "{left:?}");
    }
}
