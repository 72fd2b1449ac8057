//! TFRecord framing: each record is its length, the length's checksum, its data, and the data's
//! checksum.
//!
//! ```text
//! u64  length, little endian
//! u32  masked CRC-32C of the 8 length bytes
//! u8   data[length]
//! u32  masked CRC-32C of the data
//! ```
//!
//! [`rl755_run::write_record`] writes them. Source: TensorFlow,
//! `tensorflow/core/lib/io/record_writer.h`. A file of records has nothing before, between or after
//! them, so files can be joined by joining their bytes.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use rl755_run::masked_crc;

/// Bytes that framing adds to a record.
pub const FRAMING_BYTES: u64 = HEADER_BYTES + FOOTER_BYTES;

/// The longest record that is read: protocol buffers cannot be longer than 2 GiB.
pub const MAX_RECORD_BYTES: u64 = i32::MAX as u64;

pub(crate) const HEADER_BYTES: u64 = 12;
pub(crate) const FOOTER_BYTES: u64 = 4;

/// What is wrong with the framing of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFault {
    /// The checksum of the length does not match; nothing after it can be found.
    #[error("the checksum of its length is wrong")]
    LengthChecksum,
    /// The checksum of the data does not match.
    #[error("the checksum of its data is wrong")]
    DataChecksum,
    /// The length is greater than [`MAX_RECORD_BYTES`].
    #[error("it claims {length} bytes, more than a record can have")]
    TooLong {
        /// The length in the header.
        length: u64,
    },
    /// The file ends within the record, or has bytes after the last one that are too few for a
    /// header.
    #[error("the file ends after {present} of its {expected} bytes")]
    Truncated {
        /// Bytes of the framed record that are there.
        present: u64,
        /// Bytes it needs; 12, the header's, when not even that is there.
        expected: u64,
    },
}

/// A record could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The record is not whole.
    #[error("record {record} at byte {offset}: {fault}")]
    Damaged {
        /// Which record of the file, from 0.
        record: u64,
        /// Where its framing begins.
        offset: u64,
        /// What is wrong.
        fault: RecordFault,
    },
    /// The file system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Where a record lies in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPosition {
    /// Where its framing begins.
    pub offset: u64,
    /// The length of its data.
    pub length: u64,
}

/// Bytes that are asked of the reader at a time: many enough that a call costs little, few enough
/// that they are still in a core's cache when they are looked at.
const BLOCK_BYTES: usize = 1 << 18;

/// Reads records one after another, all into the same buffer.
///
/// The buffer grows as data arrives, so that a damaged length cannot ask for more than the file
/// holds: it has at most twice the bytes of the longest record, and a block of 256 KiB.
#[derive(Debug)]
pub struct RecordReader<R> {
    reader: R,
    buffer: Vec<u8>,
    /// What was read and not yet given away: `buffer[start..end]`.
    start: usize,
    end: usize,
    record: u64,
    offset: u64,
    finished: bool,
}

impl<R: Read> RecordReader<R> {
    /// Reads from `reader`, which stands at the beginning of a file of records.
    pub fn new(reader: R) -> Self {
        Self::with_buffer(reader, Vec::new())
    }

    /// As [`new`](Self::new), with the buffer of an earlier reader: fresh memory costs as much
    /// time as reading into it.
    pub fn with_buffer(reader: R, buffer: Vec<u8>) -> Self {
        Self { reader, buffer, start: 0, end: 0, record: 0, offset: 0, finished: false }
    }

    /// The index of the record that comes next.
    pub fn record(&self) -> u64 {
        self.record
    }

    /// Where the record that comes next begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The reader, which may have been read further than the last record, and the buffer.
    pub fn into_parts(self) -> (R, Vec<u8>) {
        (self.reader, self.buffer)
    }

    /// The data of the next record, or `None` at the end of the file.
    ///
    /// After a wrong checksum of the data, reading can go on with the record that follows. After
    /// any other error, the next call gives `None`.
    ///
    /// # Errors
    /// When the record is damaged or the reader fails.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>, RecordError> {
        if self.finished {
            return Ok(None);
        }
        // Cleared below where reading can go on.
        self.finished = true;
        let present = self.fill(HEADER_BYTES)?;
        if present == 0 {
            return Ok(None);
        }
        if present < HEADER_BYTES {
            return Err(self.damaged(RecordFault::Truncated { present, expected: HEADER_BYTES }));
        }
        let length =
            parse_header(&self.buffer[self.start..]).map_err(|fault| self.damaged(fault))?;
        let expected = length + FRAMING_BYTES;
        let present = self.fill(expected)?;
        if present < expected {
            return Err(self.damaged(RecordFault::Truncated { present, expected }));
        }
        let data =
            self.start + HEADER_BYTES as usize..self.start + (expected - FOOTER_BYTES) as usize;
        let footer = data.end..data.end + FOOTER_BYTES as usize;
        let damaged = self.damaged(RecordFault::DataChecksum);
        self.start = footer.end;
        self.record += 1;
        self.offset += expected;
        self.finished = false;
        let (data, footer) = (&self.buffer[data], &self.buffer[footer]);
        if masked_crc(data).to_le_bytes() == *footer { Ok(Some(data)) } else { Err(damaged) }
    }

    /// Reads on until `wanted` bytes are there or the reader ends; gives how many of them are.
    fn fill(&mut self, wanted: u64) -> io::Result<u64> {
        while ((self.end - self.start) as u64) < wanted {
            if self.end + BLOCK_BYTES > self.buffer.len() {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
                if self.end + BLOCK_BYTES > self.buffer.len() {
                    self.buffer.resize(self.end + BLOCK_BYTES, 0);
                }
            }
            match self.reader.read(&mut self.buffer[self.end..self.end + BLOCK_BYTES]) {
                Ok(0) => break,
                Ok(n) => self.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(wanted.min((self.end - self.start) as u64))
    }

    fn damaged(&self, fault: RecordFault) -> RecordError {
        RecordError::Damaged { record: self.record, offset: self.offset, fault }
    }
}

/// Finds the records of the file at `path` by their headers, without reading their data.
///
/// # Errors
/// When a header is damaged, the file ends within a record, or cannot be read.
pub fn index_records(path: &Path) -> Result<Vec<RecordPosition>, RecordError> {
    let mut positions = Vec::new();
    append_positions(path, &mut positions)?;
    Ok(positions)
}

/// As [`index_records`]; the records before a damaged one are appended to `positions`, which is
/// empty, even then.
pub(crate) fn append_positions(
    path: &Path,
    positions: &mut Vec<RecordPosition>,
) -> Result<(), RecordError> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut offset = 0;
    while offset < size {
        let damaged =
            |fault| RecordError::Damaged { record: positions.len() as u64, offset, fault };
        let present = size - offset;
        if present < HEADER_BYTES {
            return Err(damaged(RecordFault::Truncated { present, expected: HEADER_BYTES }));
        }
        let mut header = [0; HEADER_BYTES as usize];
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut header)?;
        let length = parse_header(&header).map_err(damaged)?;
        let expected = length + FRAMING_BYTES;
        if present < expected {
            return Err(damaged(RecordFault::Truncated { present, expected }));
        }
        positions.push(RecordPosition { offset, length });
        offset += expected;
    }
    Ok(())
}

/// The length in a header whose checksum matches; `header` has at least its 12 bytes.
pub(crate) fn parse_header(header: &[u8]) -> Result<u64, RecordFault> {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&header[..8]);
    if masked_crc(&bytes).to_le_bytes() != header[8..HEADER_BYTES as usize] {
        return Err(RecordFault::LengthChecksum);
    }
    let length = u64::from_le_bytes(bytes);
    if length > MAX_RECORD_BYTES { Err(RecordFault::TooLong { length }) } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use rl755_run::write_record;

    use super::*;

    fn framed(records: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in records {
            write_record(&mut bytes, record).unwrap();
        }
        bytes
    }

    fn faults(bytes: &[u8]) -> Vec<RecordFault> {
        let mut reader = RecordReader::new(bytes);
        let mut faults = Vec::new();
        loop {
            match reader.next_record() {
                Ok(Some(_)) => {}
                Ok(None) => return faults,
                Err(RecordError::Damaged { fault, .. }) => faults.push(fault),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn records_come_back_in_order() {
        let bytes = framed(&[b"first", b"", b"third"]);
        let mut reader = RecordReader::new(&bytes[..]);
        for (offset, expected) in [(0, &b"first"[..]), (21, b""), (37, b"third")] {
            assert_eq!(reader.offset(), offset);
            assert_eq!(reader.next_record().unwrap(), Some(expected));
        }
        assert!(reader.next_record().unwrap().is_none());
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let bytes = framed(&[b"first", b"second"]);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(!faults(&damaged).is_empty(), "bit {bit}");
        }
    }

    #[test]
    fn every_truncation_but_between_records_is_found() {
        let bytes = framed(&[b"first", b"second"]);
        for length in 0..bytes.len() {
            let whole = length == 0 || length == 5 + FRAMING_BYTES as usize;
            assert_eq!(faults(&bytes[..length]).is_empty(), whole, "{length} bytes");
        }
    }

    #[test]
    fn a_record_after_damaged_data_is_still_read() {
        let mut bytes = framed(&[b"first", b"second"]);
        bytes[HEADER_BYTES as usize] ^= 1;
        let mut reader = RecordReader::new(&bytes[..]);
        assert!(reader.next_record().is_err());
        assert_eq!(reader.next_record().unwrap(), Some(&b"second"[..]));
    }

    #[test]
    fn a_hostile_length_is_refused_before_memory_is_taken() {
        for length in [u64::MAX, 1 << 40, MAX_RECORD_BYTES + 1] {
            let mut bytes = length.to_le_bytes().to_vec();
            bytes.extend(masked_crc(&length.to_le_bytes()).to_le_bytes());
            assert_eq!(faults(&bytes), [RecordFault::TooLong { length }]);
        }
        let mut bytes = MAX_RECORD_BYTES.to_le_bytes().to_vec();
        bytes.extend(masked_crc(&MAX_RECORD_BYTES.to_le_bytes()).to_le_bytes());
        bytes.extend([0; 100]);
        let expected = MAX_RECORD_BYTES + FRAMING_BYTES;
        assert_eq!(faults(&bytes), [RecordFault::Truncated { present: 112, expected }]);
    }

    #[test]
    fn the_index_agrees_with_reading() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.tfrecord");
        let records: [&[u8]; 3] = [b"first", b"", b"third"];
        std::fs::write(&path, framed(&records)).unwrap();
        let index = index_records(&path).unwrap();
        let places = index.iter().map(|position| (position.offset, position.length));
        assert_eq!(places.collect::<Vec<_>>(), [(0, 5), (21, 0), (37, 5)]);
        std::fs::write(&path, &framed(&records)[..50]).unwrap();
        assert!(index_records(&path).is_err());
    }
}
