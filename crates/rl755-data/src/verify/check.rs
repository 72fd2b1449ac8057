//! Checking whole files of rollouts, record by record.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::Path,
};

use ndarray::Array2;
use rl755_env::EnvSpec;
use rl755_run::Digest;
use serde::{Deserialize, Serialize};

use crate::{
    DatasetManifest, RecordError, RecordFault, SchemaError,
    dataset::shard::digest,
    original,
    record::RecordReader,
    schema::encoded_record::{self, LATENT, expect_extras},
    schema::extras,
    schema::raw_record::RawRecord,
    schema::{Head, Parsed, context, told_apart},
};

/// How closely frames are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameCheck {
    /// That each is whole and has the right size, without decoding its pixels. The default.
    #[default]
    Structure,
    /// That each can be decoded, which takes many times longer.
    Pixels,
}

/// What a sound record holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheckedRecord {
    pub(crate) head: Head,
    /// `[steps, action_width]`.
    pub(crate) actions: Array2<f32>,
    /// `[steps]`.
    pub(crate) rewards: Vec<f32>,
    /// Means and standard deviations, `[steps, latent]`, of an encoded rollout.
    pub(crate) latents: Option<[Array2<f32>; 2]>,
    /// The widths of its extras.
    pub(crate) extras: BTreeMap<String, usize>,
}

impl CheckedRecord {
    pub(crate) fn is_encoded(&self) -> bool {
        self.latents.is_some()
    }

    fn kind(&self) -> Kind<'_> {
        let width = self.latents.as_ref().map(|[means, _]| means.ncols());
        let digest = self.head.encoder.as_ref();
        let extras = &self.extras;
        (&self.head.environment, width.map(|width| LatentsKind { digest, width, extras }))
    }
}

/// Checks everything about a record but the pixels of its frames.
#[cfg(any(test, fuzzing))]
pub(crate) fn check_record(data: &[u8]) -> Result<CheckedRecord, SchemaError> {
    RecordChecker::default().check(data)
}

/// Checks records one after another.
#[derive(Debug, Default)]
pub(crate) struct RecordChecker {
    frames: FrameCheck,
    /// A decoded frame.
    pixels: Vec<u8>,
}

impl RecordChecker {
    fn check(&mut self, data: &[u8]) -> Result<CheckedRecord, SchemaError> {
        let parsed = match Parsed::from_record(data) {
            Err(ours @ SchemaError::Missing { key: context::SCHEMA_VERSION, .. }) => {
                return original::check(data).map_err(|theirs| theirs.unwrap_or(ours));
            }
            parsed => parsed?,
        };
        if parsed.head.format == LATENT {
            let head = parsed.head.clone();
            let rollout = encoded_record::from_parsed(parsed)?;
            return Ok(CheckedRecord {
                head,
                actions: rollout.actions,
                rewards: rollout.rewards,
                latents: Some([rollout.latents, rollout.std_devs]),
                extras: extras::widths(&rollout.extras),
            });
        }
        let raw = RawRecord::of(parsed)?;
        let (actions, rewards) = raw.check()?;
        if let (FrameCheck::Pixels, Some(shape)) = (self.frames, raw.frame_shape()) {
            self.pixels.resize(shape.bytes(), 0);
            for step in 0..raw.parsed.head.steps {
                raw.decode_frame(step, &mut self.pixels)?;
            }
        }
        let extras = BTreeMap::new();
        Ok(CheckedRecord { head: raw.parsed.head, actions, rewards, latents: None, extras })
    }
}

/// What is wrong with a record.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordProblem {
    #[error(transparent)]
    Framing(#[from] RecordFault),
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// Where a record lies in a file of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which record, from 0.
    pub(crate) record: u64,
    /// Where its framing begins.
    pub(crate) offset: u64,
    /// The length of its data.
    pub(crate) length: u64,
}

/// What a file of records holds.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    /// Records whose framing was found, sound or not.
    pub(crate) records: u64,
    /// Steps of each sound record.
    pub(crate) lengths: Vec<u64>,
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
    /// The encoder of the first sound record's latents.
    encoder: Option<(Option<Digest>, usize, BTreeMap<String, usize>)>,
    /// Index and offset of each bad record, and what is wrong.
    pub(crate) problems: Vec<(u64, u64, RecordProblem)>,
}

/// Checks files one after another, with the same memory.
#[derive(Debug, Default)]
pub(crate) struct FileChecker {
    records: RecordChecker,
    buffer: Vec<u8>,
}

impl FileChecker {
    pub(crate) fn new(frames: FrameCheck) -> Self {
        let records = RecordChecker { frames, ..RecordChecker::default() };
        Self { records, buffer: Vec::new() }
    }

    /// Reads the file at `path` and checks all its records. `read` is told of bytes as they are
    /// read and may end it with an error; `found` is given each sound record that fits the first.
    pub(crate) fn check(
        &mut self,
        path: &Path,
        read: impl FnMut(u64) -> io::Result<()>,
        mut found: impl FnMut(&CheckedRecord, Place),
    ) -> io::Result<CheckedFile> {
        let watched =
            Watched { file: File::open(path)?, hasher: blake3::Hasher::new(), bytes: 0, read };
        let mut reader = RecordReader::with_buffer(watched, std::mem::take(&mut self.buffer));
        let mut file = CheckedFile {
            records: 0,
            lengths: Vec::new(),
            steps: 0,
            bytes: 0,
            digest: digest(&blake3::Hasher::new()),
            environment: None,
            encoded: false,
            encoder: None,
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
            match self.records.check(data).and_then(|record| file.expect_fit(record)) {
                Ok(checked) => {
                    let place = Place { record, offset, length: data.len() as u64 };
                    file.lengths.push(checked.head.steps as u64);
                    file.steps += checked.head.steps as u64;
                    found(&checked, place);
                    if file.environment.is_none() {
                        file.encoded = checked.is_encoded();
                        file.encoder =
                            checked.kind().1.map(|LatentsKind { digest, width, extras }| {
                                (digest.cloned(), width, extras.clone())
                            });
                        file.environment = Some(checked.head.environment);
                    }
                }
                Err(error) => file.problems.push((record, offset, error.into())),
            }
        }
        file.records = reader.record();
        let (mut watched, buffer) = reader.into_parts();
        self.buffer = buffer;
        // After a damaged header the rest of the file has not been read.
        io::copy(&mut watched, &mut io::sink())?;
        file.bytes = watched.bytes;
        file.digest = digest(&watched.hasher);
        Ok(file)
    }
}

impl CheckedFile {
    /// Rejects a record of another environment or kind than the file's first.
    fn expect_fit(&self, record: CheckedRecord) -> Result<CheckedRecord, SchemaError> {
        if let Some(kind) = self.kind() {
            expect_same(record.kind(), kind)?;
        }
        Ok(record)
    }

    /// Rejects a file of another environment or kind than the dataset's.
    pub(crate) fn check_fits(&self, manifest: &DatasetManifest) -> Result<(), SchemaError> {
        let encoder = manifest.encoder.as_ref().map(|e| LatentsKind {
            digest: Some(&e.digest),
            width: e.latent_width,
            extras: &e.extras,
        });
        self.kind().map_or(Ok(()), |kind| expect_same(kind, (&manifest.environment, encoder)))
    }

    fn kind(&self) -> Option<Kind<'_>> {
        let encoder = self.encoder.as_ref().map(|(digest, width, extras)| LatentsKind {
            digest: digest.as_ref(),
            width: *width,
            extras,
        });
        self.environment.as_ref().map(|environment| (environment, encoder))
    }
}

/// What the rollouts of a dataset have in common: the environment and, for encoded ones, what
/// their latents are.
type Kind<'a> = (&'a EnvSpec, Option<LatentsKind<'a>>);

/// The encoder of latents, their width, and the widths of extras.
#[derive(Clone, Copy, PartialEq)]
struct LatentsKind<'a> {
    /// `None` where it is unknown.
    digest: Option<&'a Digest>,
    width: usize,
    extras: &'a BTreeMap<String, usize>,
}

fn expect_same(found: Kind<'_>, expected: Kind<'_>) -> Result<(), SchemaError> {
    if found == expected {
        return Ok(());
    }
    let encoder =
        |digest: Option<&Digest>| digest.map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let kind = |encoded| if encoded { "encoded" } else { "raw" }.to_owned();
    let (what, [found, expected]) = match (found.1, expected.1) {
        _ if found.0 != expected.0 => ("environment", told_apart(found.0, expected.0)),
        (Some(one), Some(other)) if one.digest != other.digest => {
            ("encoder", [one.digest, other.digest].map(encoder))
        }
        (Some(one), Some(other)) if one.width != other.width => {
            ("latent width", [one.width, other.width].map(|width| width.to_string()))
        }
        (Some(one), Some(other)) => return expect_extras(one.extras, other.extras),
        (one, other) => ("kind", [one.is_some(), other.is_some()].map(kind)),
    };
    Err(SchemaError::Misfit { what, found, expected })
}

/// A file whose digest is computed, and whose bytes are counted, as it is read.
struct Watched<F> {
    file: File,
    hasher: blake3::Hasher,
    bytes: u64,
    read: F,
}

impl<F: FnMut(u64) -> io::Result<()>> Read for Watched<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.bytes += read as u64;
        (self.read)(read as u64)?;
        Ok(read)
    }
}
