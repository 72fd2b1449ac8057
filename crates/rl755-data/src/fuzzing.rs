//! What the fuzz targets in `fuzz/` do with an input; the tests replay their seeds.
//!
//! This module is there for tests and for `cargo fuzz` only, which sets `cfg(fuzzing)`. Nothing that
//! is read may panic or take more memory at once than its target states, whatever the input.

use std::fmt::Debug;

use prost::Message;
use rl755_run::write_record;

use crate::{
    EncodedRollout, OriginalRollout, Rollout, SchemaError, StoredRollout,
    collect::session::parse_session,
    dataset::encoded_part::parse_part,
    dataset::parse_manifest,
    original::is_unknown,
    proto::example::{Example, FeatureView},
    proto::{Feature, Kind, SequenceExample},
    record::RecordReader,
    verify::check::check_record,
};

/// Something that is read, and what holds for any input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The directory of its seeds in `fuzz/seeds`.
    pub seeds: &'static str,
    /// Reads the input.
    pub read: fn(&[u8]),
    /// Compares what was read with what others read; may take any memory.
    pub compare: fn(&[u8]),
    /// The most memory that reading takes at once, in bytes for each byte of the input, ...
    pub bytes_per_byte: usize,
    /// ... and in bytes for any input.
    pub bytes: usize,
}

/// The framing of a file of records.
pub const FRAMING: Target = Target {
    seeds: "framing",
    read: |input| read_records(input, |_| ()),
    compare: framing_agrees,
    // A buffer of twice the longest record and a block, and the one that it outgrows.
    bytes_per_byte: 4,
    bytes: 3 << 18,
};

/// A record, as verifying checks it.
pub const RECORD: Target = Target {
    seeds: "record",
    read: |input| drop(check_record(input)),
    compare: record_agrees,
    // A node of JSON for two bytes of the spec; elsewhere it is 16, a slice for an empty step.
    bytes_per_byte: 80,
    bytes: 64 << 10,
};

/// A record, as a rollout is made of it.
pub const ROLLOUT: Target = Target {
    seeds: "record",
    read: |input| {
        let _ = Rollout::from_record(input);
        let _ = EncodedRollout::from_record(input);
    },
    compare: rollout_agrees,
    // What a picture unpacks to at most, twice: its rows and its pixels. Deflate stores 1,032 bytes
    // in one.
    bytes_per_byte: 2100,
    bytes: 64 << 10,
};

/// The manifests of datasets, of parts and of sessions.
pub const MANIFEST: Target = Target {
    seeds: "manifest",
    read: |input| {
        let _ = parse_manifest(input);
        let _ = parse_part(input);
        let _ = parse_session(input);
    },
    compare: manifest_agrees,
    // JSON in memory: a node of a map for `{"":0}`.
    bytes_per_byte: 192,
    bytes: 64 << 10,
};

/// All targets whose inputs are bytes of this crate's formats.
pub const TARGETS: [Target; 4] = [FRAMING, RECORD, ROLLOUT, MANIFEST];

fn read_records(file: &[u8], mut each: impl FnMut(&[u8])) {
    let mut reader = RecordReader::new(file);
    let mut faults = 0;
    loop {
        match reader.next_record() {
            Ok(Some(record)) => each(record),
            Ok(None) => break,
            Err(_) => faults += 1,
        }
        assert!(reader.offset() <= file.len() as u64);
    }
    assert!(faults as usize <= file.len(), "it ends");
}

/// Framing the records anew gives the bytes that they were read from.
fn framing_agrees(file: &[u8]) {
    let mut reader = RecordReader::new(file);
    loop {
        let offset = reader.offset() as usize;
        match reader.next_record() {
            Ok(Some(record)) => {
                let mut framed = Vec::new();
                write_record(&mut framed, record).expect("memory takes what is written");
                assert_eq!(framed, file[offset..offset + framed.len()]);
                assert_eq!(reader.offset() as usize, offset + framed.len());
            }
            Ok(None) => break,
            Err(_) => {}
        }
    }
}

/// What our reader takes for a message prost takes for one as well, with the same values.
fn record_agrees(record: &[u8]) {
    let Ok(example) = Example::parse(record) else { return };
    if example.check(|_| false).is_err() {
        return;
    }
    let message = SequenceExample::decode(record).expect("a message to one is one to the other");
    for (key, feature) in message.context.unwrap_or_default().feature {
        // A name that stands twice is an error to ours.
        if let Ok(found) = example.feature(&key) {
            assert_same(&found.expect("it is there"), &feature);
        }
    }
    for (key, list) in message.feature_lists.unwrap_or_default().feature_list {
        let Ok(found) = example.list(&key) else { continue };
        let found: Vec<_> = found.expect("it is there").features().collect();
        assert_eq!(found.len(), list.feature.len());
        for (found, expected) in found.into_iter().zip(&list.feature) {
            let found = FeatureView::parse(found.expect("it was checked"));
            assert_same(&found.expect("it was checked"), expected);
        }
    }
}

fn assert_same(found: &FeatureView<'_>, expected: &Feature) {
    match &expected.kind {
        None => assert!(matches!(found, FeatureView::Empty), "{found:?}"),
        Some(Kind::BytesList(list)) => {
            let one = found.byte_string().expect("it was checked");
            assert!(matches!(found, FeatureView::Bytes(_)), "{found:?}");
            match &list.value[..] {
                [value] => assert_eq!(one, Some(&value[..])),
                _ => assert_eq!(one, None),
            }
        }
        Some(Kind::FloatList(list)) => {
            let mut values = Vec::new();
            assert!(found.append_floats(&mut values).expect("it was checked"), "{found:?}");
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&values), bits(&list.value));
        }
        Some(Kind::Int64List(list)) => {
            let values = found.ints().expect("they are integers");
            let values: Vec<i64> = values.map(|value| value.expect("it was checked")).collect();
            assert_eq!(values, list.value);
        }
    }
}

/// A rollout that is read is written and read back unchanged; one that verifying takes for sound is
/// read, if its pictures can be.
fn rollout_agrees(record: &[u8]) {
    let raw = Rollout::from_record(record);
    let encoded = EncodedRollout::from_record(record);
    if let Ok(checked) = check_record(record) {
        let environment = &checked.head.environment;
        if is_unknown(environment) {
            let original = OriginalRollout::parse(record).expect("it is sound");
            return read_back(original.rollout(environment));
        }
        let error = if checked.is_encoded() {
            encoded.as_ref().map(|_| ()).err()
        } else {
            raw.as_ref().map(|_| ()).err().filter(|e| !matches!(e, SchemaError::Frame { .. }))
        };
        assert!(error.is_none(), "it is sound, but {error:?}");
    }
    read_back(raw);
    read_back(encoded);
}

fn read_back<R: StoredRollout + PartialEq + Debug>(rollout: Result<R, SchemaError>) {
    let Ok(rollout) = rollout else { return };
    let record = rollout.to_record().expect("what was read can be written");
    assert_eq!(R::from_record(&record).expect("what was written can be read"), rollout);
}

/// A manifest that is read is written and read back unchanged.
fn manifest_agrees(text: &[u8]) {
    let Ok(manifest) = parse_manifest(text) else { return };
    let again = serde_json::to_vec(&manifest).expect("a manifest can be written");
    assert_eq!(parse_manifest(&again).as_ref(), Ok(&manifest));
    let _ = (manifest.rollouts(), manifest.steps(), manifest.content_digest());
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    fn files(directory: &str) -> Vec<Vec<u8>> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
    }

    fn check(target: &Target, input: &[u8]) {
        (target.read)(input);
        (target.compare)(input);
    }

    #[test]
    fn what_is_promised_for_any_input_holds_for_the_seeds() {
        for target in TARGETS {
            let seeds = files(&format!("fuzz/seeds/{}", target.seeds));
            assert!(!seeds.is_empty(), "{}", target.seeds);
            for seed in seeds {
                check(&target, &seed);
                // Cut anywhere.
                (0..seed.len().min(2000)).for_each(|length| check(&target, &seed[..length]));
            }
        }
    }

    #[test]
    fn what_is_promised_for_any_input_holds_for_files_of_others() {
        for file in files("tests/golden") {
            check(&FRAMING, &file);
            read_records(&file, |record| {
                check(&RECORD, record);
                check(&ROLLOUT, record);
            });
        }
    }
}
