//! Checking whole files of rollouts, record by record.

use std::{fs::File, io, path::Path};

use rl755_env::EnvSpec;
use rl755_run::Digest;

use crate::{
    RecordError, RecordFault, SchemaError,
    encoded_record::{self, LATENT},
    raw_record::RawRecord,
    record::RecordReader,
    schema::Parsed,
    shard::digest,
};

/// What a sound record holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheckedRecord {
    pub(crate) steps: u64,
    pub(crate) environment: EnvSpec,
    pub(crate) encoded: bool,
}

/// Checks everything about a record but the pixels of its frames.
pub(crate) fn check_record(data: &[u8]) -> Result<CheckedRecord, SchemaError> {
    let parsed = Parsed::from_record(data)?;
    let steps = parsed.head.steps as u64;
    if parsed.head.format == LATENT {
        let rollout = encoded_record::from_parsed(parsed)?;
        return Ok(CheckedRecord { steps, environment: rollout.environment, encoded: true });
    }
    let raw = RawRecord::of(parsed)?;
    raw.check()?;
    Ok(CheckedRecord { steps, environment: raw.parsed.head.environment, encoded: false })
}

/// What is wrong with a record.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordProblem {
    #[error(transparent)]
    Framing(#[from] RecordFault),
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// What a file of records holds.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    /// Records whose framing was found, sound or not.
    pub(crate) records: u64,
    /// Steps in the sound records.
    pub(crate) steps: u64,
    /// The file's length.
    pub(crate) bytes: u64,
    /// The digest of the file.
    pub(crate) digest: Digest,
    /// The environment of the first sound record.
    pub(crate) environment: Option<EnvSpec>,
    /// Whether the first sound record holds latents.
    pub(crate) encoded: bool,
    /// Index and offset of each bad record, and what is wrong.
    pub(crate) problems: Vec<(u64, u64, RecordProblem)>,
}

/// Reads the file at `path` and checks all its records.
pub(crate) fn check_file(path: &Path) -> io::Result<CheckedFile> {
    let mut reader = RecordReader::new(Hashed::new(File::open(path)?));
    let mut file = CheckedFile {
        records: 0,
        steps: 0,
        bytes: 0,
        digest: digest(&blake3::Hasher::new()),
        environment: None,
        encoded: false,
        problems: Vec::new(),
    };
    loop {
        let (record, offset) = (reader.record(), reader.offset());
        let data = match reader.next_record() {
            Ok(Some(data)) => data,
            Ok(None) => break,
            Err(RecordError::Damaged { record, offset, fault }) => {
                file.problems.push((record, offset, fault.into()));
                continue;
            }
            Err(RecordError::Io(error)) => return Err(error),
        };
        match check_record(&data) {
            Ok(checked) => {
                file.steps += checked.steps;
                if file.environment.is_none() {
                    file.environment = Some(checked.environment);
                    file.encoded = checked.encoded;
                } else if file.environment.as_ref() != Some(&checked.environment)
                    || file.encoded != checked.encoded
                {
                    let first = file.environment.as_ref().map_or("", |e| &e.id);
                    let kind = |encoded| if encoded { "encoded" } else { "raw" };
                    let misfit = SchemaError::Misfit {
                        what: "environment or kind",
                        found: format!("{} ({})", checked.environment.id, kind(checked.encoded)),
                        expected: format!("{first} ({})", kind(file.encoded)),
                    };
                    file.problems.push((record, offset, misfit.into()));
                }
            }
            Err(error) => file.problems.push((record, offset, error.into())),
        }
    }
    file.records = reader.record();
    let (mut hashed, _) = reader.into_parts();
    // After a damaged header the rest of the file has not been read.
    io::copy(&mut hashed, &mut io::sink())?;
    file.bytes = hashed.bytes;
    file.digest = digest(&hashed.hasher);
    Ok(file)
}

/// A reader that computes the digest of what passes through it.
struct Hashed<R> {
    reader: R,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<R> Hashed<R> {
    fn new(reader: R) -> Self {
        Self { reader, hasher: blake3::Hasher::new(), bytes: 0 }
    }
}

impl<R: io::Read> io::Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
