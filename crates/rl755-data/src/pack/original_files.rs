//! Packing the original project's files: each rollout is stored anew.

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use rl755_run::{Digest, Interrupt, digest_bytes, write_record};

use super::{
    Checked, CorruptRollout, InputRollout, Meter, OriginalInput, PackError, Source, digest_of,
    io_error,
};
use crate::{
    DatasetManifest, EncodedRollout, EncoderSource, OriginalRollout, RecordError, Rollout,
    SchemaError, StoredRollout,
    dataset::read_record_into,
    record::{FRAMING_BYTES, RecordPosition, append_positions},
    verify::{Matched, matching_files},
};

/// What the encoder of encoded rollouts is called, as the original does not name it.
const ENCODER: &str = "original";

/// Files of the original's, and where in them their rollouts are.
pub(super) struct OriginalFiles<'a> {
    input: &'a OriginalInput,
    rollouts: Vec<(PathBuf, u64, RecordPosition)>,
    /// Files that end in a record whose header is damaged, and empty ones.
    cut_off: Vec<CorruptRollout>,
}

impl<'a> OriginalFiles<'a> {
    /// Finds the rollouts by the headers of their records.
    pub(super) fn of(input: &'a OriginalInput) -> Result<Self, PackError> {
        let Matched { files, unreadable } =
            matching_files(&input.tfrecords).map_err(|e| PackError::NoFiles(e.to_string()))?;
        if let Some((path, error)) = unreadable.into_iter().next() {
            return Err(io_error(&path)(error));
        }
        let mut found = Self { input, rollouts: Vec::new(), cut_off: Vec::new() };
        for path in files {
            let mut positions = Vec::new();
            let indexed = append_positions(&path, &mut positions);
            let is_empty = positions.is_empty();
            let place = |(record, position)| (path.clone(), record, position);
            found.rollouts.extend((0..).zip(positions).map(place));
            match indexed {
                Ok(()) if is_empty => {
                    found.cut_off.push(CorruptRollout { path, reason: "it is empty".to_owned() });
                }
                Ok(()) => {}
                Err(RecordError::Io(error)) => return Err(io_error(&path)(error)),
                Err(damage) => {
                    found.cut_off.push(CorruptRollout { path, reason: damage.to_string() });
                }
            }
        }
        if found.len() == 0 {
            let reason = format!("no records in files of `{}`", input.tfrecords);
            return Err(PackError::NoFiles(reason));
        }
        Ok(found)
    }

    /// What the rollout at `position` is.
    fn judge(
        &self,
        path: &Path,
        record: u64,
        position: RecordPosition,
    ) -> Result<(InputRollout, Kind), String> {
        let data = read(path, record, position).map_err(|e| e.to_string())?;
        let judge = || {
            let rollout = OriginalRollout::parse(&data)?;
            rollout.check_fits(&self.input.environment)?;
            let kind = Kind {
                latent_width: rollout
                    .is_encoded(&self.input.environment)
                    .then(|| rollout.observation_width()),
            };
            let steps = u32::try_from(rollout.steps()).expect("a record has fewer than 2³² bytes");
            Ok((steps, kind))
        };
        let at = |e: SchemaError| format!("record {record} at byte {}: {e}", position.offset);
        let (steps, kind) = judge().map_err(at)?;
        let (path, digest) = (path.to_owned(), digest_bytes(&data));
        Ok((InputRollout { path, record, position, steps, digest }, kind))
    }
}

/// What all rollouts of a dataset have in common.
#[derive(Clone, Copy, PartialEq)]
struct Kind {
    /// `None` for raw ones.
    latent_width: Option<usize>,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.latent_width {
            None => f.write_str("raw"),
            Some(width) => write!(f, "encoded with {width} values"),
        }
    }
}

impl Source for OriginalFiles<'_> {
    fn len(&self) -> usize {
        self.rollouts.len() + self.cut_off.len()
    }

    fn check(&self, meter: &Meter<'_>, interrupt: &Interrupt) -> Result<Checked, PackError> {
        meter.add(2 * self.cut_off.len() as u64);
        let judge = |(path, record, position): &(PathBuf, u64, RecordPosition)| {
            if interrupt.is_raised() {
                return Err(PackError::Interrupted);
            }
            let judged = self.judge(path, *record, *position);
            meter.add(1);
            Ok(judged)
        };
        let judged: Vec<_> = self.rollouts.par_iter().map(judge).collect::<Result<_, _>>()?;
        let mut sound = Vec::new();
        let mut corrupt = self.cut_off.clone();
        let mut first = None;
        for ((path, record, _), judged) in self.rollouts.iter().zip(judged) {
            let reason = match judged {
                Ok((rollout, kind)) if kind == *first.get_or_insert(kind) => {
                    sound.push(rollout);
                    continue;
                }
                Ok((_, kind)) => format!("record {record} is {kind}, unlike the first"),
                Err(reason) => reason,
            };
            // It will not be read again.
            meter.add(1);
            corrupt.push(CorruptRollout { path: path.clone(), reason });
        }
        let Some(kind) = first else {
            return Err(PackError::Corrupt { files: corrupt, total: self.len() });
        };
        let (input, digest) = (PathBuf::from(&self.input.tfrecords), digest_of(&sound));
        let encoder = kind.latent_width.map(|latent_width| EncoderSource {
            name: ENCODER.to_owned(),
            path: input.clone(),
            // Stands for the weights, which are unknown: other files are of another encoder.
            digest: digest.clone(),
            latent_width,
            extras: BTreeMap::new(),
        });
        let environment = self.input.environment.clone();
        Ok(Checked { sound, corrupt, environment, encoder, input, digest })
    }

    fn framed_record(
        &self,
        rollout: &InputRollout,
        manifest: &DatasetManifest,
    ) -> Result<Vec<u8>, PackError> {
        let InputRollout { path, record, position, digest, .. } = rollout;
        let changed = || PackError::Changed { path: path.clone() };
        let data = read(path, *record, *position).map_err(|_| changed())?;
        if digest_bytes(&data) != *digest {
            return Err(changed());
        }
        let encoder = manifest.encoder.as_ref().map(|encoder| &encoder.digest);
        let stored = self.stored_anew(&data, encoder).map_err(|source| PackError::Store {
            path: path.clone(),
            record: *record,
            source,
        })?;
        let stored = stored.ok_or_else(|| PackError::NotAsRead { path: path.clone() })?;
        let mut framed = Vec::with_capacity(stored.len() + FRAMING_BYTES as usize);
        write_record(&mut framed, &stored).map_err(io_error(path))?;
        Ok(framed)
    }
}

impl OriginalFiles<'_> {
    /// The record of ours for one of theirs; `None` where reading ours gives another rollout.
    fn stored_anew(
        &self,
        data: &[u8],
        encoder: Option<&Digest>,
    ) -> Result<Option<Vec<u8>>, SchemaError> {
        let OriginalInput { environment, frame_format, .. } = self.input;
        let original = OriginalRollout::parse(data)?;
        let (record, same) = match encoder {
            Some(encoder) => {
                let rollout = original.encoded(environment, encoder)?;
                let record = rollout.to_record()?;
                let same = EncodedRollout::from_record(&record).is_ok_and(|read| read == rollout);
                (record, same)
            }
            None => {
                let rollout = original.rollout(environment)?;
                let record = rollout.to_record_as(*frame_format)?;
                let same = Rollout::from_record(&record).is_ok_and(|read| read == rollout);
                (record, same)
            }
        };
        Ok(same.then_some(record))
    }
}

fn read(path: &Path, record: u64, position: RecordPosition) -> Result<Vec<u8>, RecordError> {
    let mut buffer = Vec::new();
    read_record_into(&File::open(path)?, record, position, &mut buffer).map(<[u8]>::to_vec)
}
