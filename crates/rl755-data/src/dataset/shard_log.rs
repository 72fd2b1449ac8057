//! Which shards a process has written so far, in a file that grows by a line for each.
//!
//! The first line says what the work is, each other line is the entry of a shard, as JSON. A line
//! that a killed process left unfinished is not there for a reader.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
};

use rl755_run::write_atomically;
use serde::{Serialize, de::DeserializeOwned};

use crate::ShardEntry;

/// Shards by their file's name.
pub(crate) type WrittenShards = BTreeMap<String, ShardEntry>;

/// A log that is open for writing.
#[derive(Debug)]
pub(crate) struct ShardLog {
    file: File,
}

impl ShardLog {
    /// Begins the log of `work` at `path`, in which `shards` are written already.
    pub(crate) fn begin(
        path: &Path,
        work: &impl Serialize,
        shards: &WrittenShards,
    ) -> io::Result<Self> {
        let mut text = line(work);
        for shard in shards.values() {
            text.extend(line(shard));
        }
        write_atomically(path, &text)?;
        Ok(Self { file: OpenOptions::new().append(true).open(path)? })
    }

    /// Adds a shard that has its name.
    pub(crate) fn add(&mut self, shard: &ShardEntry) -> io::Result<()> {
        self.file.write_all(&line(shard))?;
        self.file.sync_data()
    }
}

/// The work and the shards in the text of a log, or `None` where it is not one of such work.
pub(crate) fn parse_log<W: DeserializeOwned>(text: &[u8]) -> Option<(W, WrittenShards)> {
    let mut lines = text.split_inclusive(|&byte| byte == b'\n');
    let work = serde_json::from_slice(lines.next()?).ok()?;
    let shards = lines
        .filter_map(|line| serde_json::from_slice::<ShardEntry>(line.strip_suffix(b"\n")?).ok())
        .map(|shard| (shard.file.clone(), shard));
    Some((work, shards.collect()))
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec(value)
        .expect("strings, numbers and lists can always be written as JSON");
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use rl755_run::digest_bytes;

    use super::*;

    #[test]
    fn a_log_is_read_up_to_where_a_process_was_killed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let entry = |file: &str| ShardEntry {
            file: file.to_owned(),
            lengths: vec![3, 4],
            bytes: 9,
            digest: digest_bytes(file.as_bytes()),
        };
        let mut log = ShardLog::begin(&path, &"work", &WrittenShards::new()).unwrap();
        log.add(&entry("a")).unwrap();
        log.add(&entry("b")).unwrap();
        let text = std::fs::read(&path).unwrap();
        let read = |length: usize| parse_log::<String>(&text[..length]);
        let (work, shards) = read(text.len()).unwrap();
        assert_eq!(
            (work.as_str(), shards.values().cloned().collect::<Vec<_>>()),
            ("work", vec![entry("a"), entry("b")])
        );
        let ends: Vec<usize> =
            (1..=text.len()).filter(|&length| text[length - 1] == b'\n').collect();
        for length in ends[0]..text.len() {
            let whole = ends.iter().filter(|&&end| end <= length).count() - 1;
            assert_eq!(read(length).unwrap().1.len(), whole, "{length} bytes");
        }
        assert!(read(0).is_none());
        assert!(parse_log::<u32>(&text).is_none(), "other work");
    }
}
