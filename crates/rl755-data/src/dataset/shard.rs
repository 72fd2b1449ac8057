//! Shards: files of records called `NAME.tfrecord-00003-of-00074`.

use std::{
    io::{self, Write},
    path::{Component, Path},
};

use rl755_run::{AtomicFile, Digest, SettingError, digest_file, write_record};

use crate::{
    SchemaError, ShardEntry, StoredRollout,
    record::{FRAMING_BYTES, MAX_RECORD_BYTES},
};

/// The file name of shard `index` of `count`.
pub fn shard_name(name: &str, index: usize, count: usize) -> String {
    format!("{name}.tfrecord-{index:05}-of-{count:05}")
}

/// Whether `file` is the name of a shard of `name`, whatever its index and count.
pub(crate) fn is_shard_of(name: &str, file: &str) -> bool {
    let digits = |s: &str| s.len() >= 5 && s.bytes().all(|b| b.is_ascii_digit());
    file.strip_prefix(name)
        .and_then(|rest| rest.strip_prefix(".tfrecord-"))
        .and_then(|rest| rest.split_once("-of-"))
        .is_some_and(|(index, count)| digits(index) && digits(count))
}

/// Rejects what cannot be the name of a dataset's shards.
pub(crate) fn check_name(name: &str) -> Result<(), SettingError> {
    if is_file_name(name) {
        return Ok(());
    }
    let expected = "a file name that does not begin with a dot";
    Err(SettingError::new("out_name", format!("`{name}`"), expected))
}

/// Whether `name` is that of a file in a directory, and not of a hidden one, which verifying would
/// not see.
pub(crate) fn is_file_name(name: &str) -> bool {
    let is_one_part = Path::new(name).components().eq([Component::Normal(name.as_ref())]);
    is_one_part && !name.starts_with('.') && !name.contains(['/', '\\'])
}

/// A rollout could not be written to a shard.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// The rollout cannot be stored.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The file system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes one shard, which appears under its name when [finished](Self::finish).
#[derive(Debug)]
pub struct ShardWriter {
    file: AtomicFile,
    hasher: blake3::Hasher,
    name: String,
    lengths: Vec<u32>,
    bytes: u64,
}

impl ShardWriter {
    /// Begins the shard called `name` in `directory`, making the directory where needed.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn create(directory: &Path, name: &str) -> io::Result<Self> {
        Ok(Self {
            file: AtomicFile::create(&directory.join(name))?,
            hasher: blake3::Hasher::new(),
            name: name.to_owned(),
            lengths: Vec::new(),
            bytes: 0,
        })
    }

    /// Adds a rollout.
    ///
    /// # Errors
    /// When the rollout cannot be stored, or the disk is full.
    pub fn push(&mut self, rollout: &impl StoredRollout) -> Result<(), ShardError> {
        let record = rollout.to_record()?;
        let mut framed = Vec::with_capacity(record.len() + FRAMING_BYTES as usize);
        write_record(&mut framed, &record)?;
        let steps = u32::try_from(rollout.steps())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "2³² steps or more"))?;
        self.push_framed(&framed, steps)?;
        Ok(())
    }

    /// Adds one record that is already framed.
    pub(crate) fn push_framed(&mut self, framed: &[u8], steps: u32) -> io::Result<()> {
        if framed.len() as u64 > MAX_RECORD_BYTES + FRAMING_BYTES {
            let reason = format!(
                "a rollout of {} bytes; a record has at most {MAX_RECORD_BYTES}",
                framed.len() as u64 - FRAMING_BYTES
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        self.file.write_all(framed)?;
        self.hasher.update(framed);
        self.lengths.push(steps);
        self.bytes += framed.len() as u64;
        Ok(())
    }

    /// Rollouts so far.
    pub fn rollouts(&self) -> usize {
        self.lengths.len()
    }

    /// The digest of the file so far.
    pub(crate) fn digest(&self) -> Digest {
        digest(&self.hasher)
    }

    /// Syncs the shard, reads it back, and gives it its name if it holds what was written.
    ///
    /// # Errors
    /// When the disk is full or fails; no shard of that name appears then.
    pub fn finish(mut self) -> io::Result<ShardEntry> {
        let digest = digest(&self.hasher);
        if digest_file(self.file.sync()?)? != digest {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it does not hold what was written to it; the disk or the memory is faulty",
            ));
        }
        self.file.commit()?;
        Ok(ShardEntry { file: self.name, lengths: self.lengths, bytes: self.bytes, digest })
    }
}

/// The digest of what `hasher` has seen.
pub(crate) fn digest(hasher: &blake3::Hasher) -> Digest {
    let text = serde_json::Value::String(hasher.finalize().to_hex().to_string());
    serde_json::from_value(text).expect("a digest is written as its hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shard_names_are_those_of_the_original() {
        assert_eq!(shard_name("cars", 3, 74), "cars.tfrecord-00003-of-00074");
        assert!(is_shard_of("cars", "cars.tfrecord-00003-of-00074"));
        for other in ["car.tfrecord-00003-of-00074", "cars.tfrecord-3-of-74", "cars.tfrecord", "x"]
        {
            assert!(!is_shard_of("cars", other), "{other}");
        }
    }

    #[test]
    fn shards_lie_in_the_directory_and_are_seen() {
        for name in ["cars", "a.b", "a..", "a b"] {
            check_name(name).unwrap();
        }
        for name in ["", ".", "..", ".cars", "a/b", "/a", "a/", "a\\b"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_record_that_no_reader_would_take_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = ShardWriter::create(directory.path(), "a").unwrap();
        // Memory that is zero takes none until it is looked at.
        let framed = vec![0; (MAX_RECORD_BYTES + FRAMING_BYTES + 1) as usize];
        let error = writer.push_framed(&framed, 1).unwrap_err().to_string();
        assert_eq!(error, "a rollout of 2147483648 bytes; a record has at most 2147483647");
        assert_eq!(writer.rollouts(), 0);
    }

    #[test]
    fn a_shard_s_entry_describes_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer =
            ShardWriter::create(directory.path(), "a.tfrecord-00000-of-00001").unwrap();
        writer.push_framed(b"0123456789", 7).unwrap();
        let path = directory.path().join("a.tfrecord-00000-of-00001");
        assert!(!path.exists());
        let entry = writer.finish().unwrap();
        assert_eq!((entry.lengths, entry.bytes), (vec![7], 10));
        assert_eq!(entry.digest, rl755_run::digest_file(&path).unwrap());
    }

    #[test]
    fn a_shard_that_does_not_hold_what_was_written_gets_no_name() {
        let directory = tempfile::tempdir().unwrap();
        let name = "a.tfrecord-00000-of-00001";
        let mut writer = ShardWriter::create(directory.path(), name).unwrap();
        // More than is buffered.
        writer.push_framed(&vec![7; 1 << 20], 7).unwrap();
        let temporary =
            std::fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
        let mut file = std::fs::File::options().write(true).open(&temporary).unwrap();
        file.write_all(&[8]).unwrap();
        let error = writer.finish().unwrap_err();
        assert!(error.to_string().contains("the disk or the memory is faulty"), "{error}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
