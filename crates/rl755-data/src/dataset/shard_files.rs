//! The files of a dataset's shards, kept open, and records read from anywhere in them.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use rl755_run::masked_crc;

use crate::{
    RecordError, RecordFault,
    record::{FOOTER_BYTES, FRAMING_BYTES, HEADER_BYTES, RecordPosition, parse_header},
};

/// Files that are kept open: few enough beside the 1,024 that a process may open by default.
const MOST_OPEN: usize = 128;

/// Shards that were opened, by their index.
#[derive(Debug, Default)]
pub(crate) struct ShardFiles {
    /// The one that was used last stands last.
    open: Mutex<Vec<(usize, Arc<File>)>>,
}

impl ShardFiles {
    /// Shard `shard`, whose file is at `path`.
    pub(crate) fn get(&self, shard: usize, path: &Path) -> io::Result<Arc<File>> {
        // Entries are moved whole, so that they are sound even if another thread panicked.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open.iter().position(|(known, _)| *known == shard);
        let entry = match known {
            Some(place) => open.remove(place),
            None => (shard, Arc::new(File::open(path)?)),
        };
        if open.len() >= MOST_OPEN {
            open.remove(0);
        }
        let file = Arc::clone(&entry.1);
        open.push(entry);
        Ok(file)
    }
}

/// Reads the data of record `record`, which lies at `position`, into `buffer`, and checks it. The
/// buffer grows where it must and is not made smaller, so that the next record finds it ready.
///
/// `position` must come from the file's index: the buffer is as long as it says.
pub(crate) fn read_record_into<'b>(
    file: &File,
    record: u64,
    position: RecordPosition,
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8], RecordError> {
    let RecordPosition { offset, length } = position;
    let damaged = |fault| RecordError::Damaged { record, offset, fault };
    let expected = length + FRAMING_BYTES;
    if (buffer.len() as u64) < expected {
        // Exactly as long as the longest record, so that what readers need can be told.
        buffer.clear();
        buffer.reserve_exact(expected as usize);
        buffer.resize(expected as usize, 0);
    }
    let framed = &mut buffer[..expected as usize];
    let mut present = 0;
    while present < framed.len() {
        match file.read_at(&mut framed[present..], offset + present as u64) {
            Ok(0) => {
                let present = present as u64;
                return Err(damaged(RecordFault::Truncated { present, expected }));
            }
            Ok(read) => present += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    // The file may have become another since it was indexed.
    if parse_header(framed).map_err(damaged)? != length {
        return Err(damaged(RecordFault::LengthChecksum));
    }
    let (data, footer) =
        framed[HEADER_BYTES as usize..].split_at((expected - HEADER_BYTES - FOOTER_BYTES) as usize);
    if masked_crc(data).to_le_bytes() == *footer {
        Ok(data)
    } else {
        Err(damaged(RecordFault::DataChecksum))
    }
}

#[cfg(test)]
mod tests {
    use rl755_run::write_record;

    use super::*;
    use crate::record::index_records;

    #[test]
    fn more_shards_than_may_be_open_are_read_in_turns() {
        let directory = tempfile::tempdir().unwrap();
        let path = |shard: usize| directory.path().join(shard.to_string());
        for shard in 0..MOST_OPEN + 10 {
            let mut bytes = Vec::new();
            write_record(&mut bytes, shard.to_string().as_bytes()).unwrap();
            std::fs::write(path(shard), bytes).unwrap();
        }
        let (files, mut buffer) = (ShardFiles::default(), Vec::new());
        for round in 0..3 {
            for shard in 0..MOST_OPEN + 10 {
                let position = index_records(&path(shard)).unwrap()[0];
                let file = files.get(shard, &path(shard)).unwrap();
                let data = read_record_into(&file, 0, position, &mut buffer).unwrap();
                assert_eq!(data, shard.to_string().as_bytes(), "round {round}");
            }
            assert_eq!(files.open.lock().unwrap().len(), MOST_OPEN);
        }
    }

    #[test]
    fn a_file_that_changed_since_it_was_indexed_is_damaged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let mut bytes = Vec::new();
        write_record(&mut bytes, b"first").unwrap();
        write_record(&mut bytes, b"second").unwrap();
        std::fs::write(&path, &bytes).unwrap();
        let index = index_records(&path).unwrap();
        let read = |position| {
            let file = File::open(&path).unwrap();
            read_record_into(&file, 1, position, &mut Vec::new()).map(<[u8]>::to_vec)
        };
        assert_eq!(read(index[1]).unwrap(), b"second");
        for bit in 0..8 * 22 {
            let mut damaged = bytes.clone();
            damaged[21 + bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, damaged).unwrap();
            assert!(read(index[1]).is_err(), "bit {bit}");
        }
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let error = read(index[1]).unwrap_err().to_string();
        assert_eq!(error, "record 1 at byte 21: the file ends after 21 of its 22 bytes");
    }
}
