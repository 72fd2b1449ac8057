//! Verifying: every damage is found, named and placed.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{collections::BTreeMap, fs, path::Path};

use prost::Message;
use rl755_data::{
    CollectConfig, Fault, VerifyError, VerifyReport,
    proto::{Feature, FeatureList, SequenceExample},
    record::RecordReader,
    verify,
};
use rl755_run::{Interrupt, Silent, write_record};
use support::*;

fn check(pattern: &Path) -> VerifyReport {
    verify(pattern.to_str().unwrap(), 2, &Silent, &Interrupt::new()).unwrap()
}

/// A shard of two rollouts of 4 steps, without a manifest beside it.
fn small_shard(directory: &Path) -> Vec<u8> {
    let rollouts = directory.join("rollouts");
    collect_all(&CollectConfig { num_rollouts: 2, max_steps: 4, ..config(&rollouts) });
    let shard = files(&rollouts).into_values().flatten().collect();
    fs::remove_dir_all(rollouts).unwrap();
    shard
}

fn records(shard: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = RecordReader::new(shard);
    std::iter::from_fn(|| reader.next_record().unwrap().map(<[u8]>::to_vec)).collect()
}

#[test]
fn every_flipped_bit_and_every_truncation_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let shard = small_shard(directory.path());
    let path = directory.path().join("a.tfrecord");
    fs::write(&path, &shard).unwrap();
    let sound = check(&path);
    assert!(sound.is_clean() && sound.records == 2 && sound.steps == 8, "{sound:?}");
    assert_eq!(sound.bytes, shard.len() as u64);
    for byte in 0..shard.len() {
        let mut damaged = shard.clone();
        damaged[byte] ^= 1 << (byte % 8);
        fs::write(&path, &damaged).unwrap();
        assert!(!check(&path).is_clean(), "byte {byte} of {}", shard.len());
    }
    let boundary = records(&shard)[0].len() + 16;
    for length in 0..shard.len() {
        fs::write(&path, &shard[..length]).unwrap();
        // Only a manifest can tell that a whole record is missing.
        assert_eq!(check(&path).is_clean(), length == boundary, "{length} bytes");
    }
    for trailing in [1, 11, 12, 100] {
        let mut longer = shard.clone();
        longer.resize(shard.len() + trailing, 0);
        fs::write(&path, &longer).unwrap();
        let report = check(&path);
        assert_eq!(report.problems[0].place, Some((2, shard.len() as u64)), "{trailing}");
    }
}

/// Reads the first record, lets `edit` change it, frames it soundly and says what verifying finds.
fn finding(shard: &[u8], edit: impl FnOnce(&mut SequenceExample)) -> String {
    let directory = tempfile::tempdir().unwrap();
    let records = records(shard);
    let mut example = SequenceExample::decode(&records[0][..]).unwrap();
    edit(&mut example);
    let mut bytes = Vec::new();
    write_record(&mut bytes, &records[1]).unwrap();
    write_record(&mut bytes, &example.encode_to_vec()).unwrap();
    write_record(&mut bytes, &records[1]).unwrap();
    fs::write(directory.path().join("a.tfrecord"), bytes).unwrap();
    let report = check(&directory.path().join("a.tfrecord"));
    assert_eq!((report.records, report.problems.len()), (3, 1), "{report:?}");
    let offset = records[1].len() as u64 + 16;
    assert_eq!(report.problems[0].place, Some((1, offset)));
    let text = report.problems[0].to_string();
    let place = format!("a.tfrecord: record 1 at byte {offset}: ");
    text.split_once(&place).unwrap_or_else(|| panic!("{text}")).1.to_owned()
}

fn lists(example: &mut SequenceExample) -> &mut BTreeMap<String, FeatureList> {
    &mut example.feature_lists.as_mut().unwrap().feature_list
}

fn context(example: &mut SequenceExample) -> &mut BTreeMap<String, Feature> {
    &mut example.context.as_mut().unwrap().feature
}

#[test]
fn sound_framing_around_a_broken_rollout_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let shard = small_shard(directory.path());
    let set = |key: &'static str, step: usize, feature: Feature| {
        finding(&shard, |e| lists(e).get_mut(key).unwrap().feature[step] = feature)
    };
    let check = |found: String, expected: &str| assert_eq!(found, expected);
    check(
        set("rewards", 2, Feature::floats(vec![f32::NAN])),
        "`rewards` of step 2 is NaN, where a finite number is needed",
    );
    check(
        set("actions", 1, Feature::floats(vec![0.0; 3])),
        "`actions` of step 1: 3 floats, where 2 floats is needed",
    );
    check(
        set("actions", 1, Feature::ints(vec![1, 2])),
        "`actions` of step 1: 2 integers, where 2 floats is needed",
    );
    let found = set("observations", 3, Feature::bytes(&b"GIF89a"[..]));
    assert!(found.starts_with("`observations` of step 3: not a PNG picture"), "{found}");
    check(
        finding(&shard, |e| drop(lists(e).get_mut("rewards").unwrap().feature.pop())),
        "`rewards`: 3 steps, where 4 steps is needed",
    );
    check(
        finding(&shard, |e| drop(lists(e).remove("actions"))),
        "no `actions` in the feature_lists",
    );
    check(finding(&shard, |e| drop(context(e).remove("seed"))), "no `seed` in the context");
    check(
        finding(&shard, |e| {
            context(e).insert("schema_version".to_owned(), Feature::ints(vec![2]));
        }),
        "schema version 2; this program reads 1",
    );
    let shape = Feature::ints(vec![1 << 40, 1 << 40, 3]);
    let found = finding(&shard, |e| drop(context(e).insert("observation_shape".to_owned(), shape)));
    assert!(found.starts_with("`observation_shape`: ["), "{found}");
}

#[test]
fn bytes_that_are_no_message_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.tfrecord");
    let mut bytes = Vec::new();
    write_record(&mut bytes, b"\xff\xff\xff\xff not a message").unwrap();
    fs::write(&path, bytes).unwrap();
    let report = check(&path);
    let text = report.problems[0].to_string();
    assert!(text.contains("record 0 at byte 0: not a SequenceExample"), "{text}");
    assert!(report.is_mostly_bad());
}

#[test]
fn files_are_compared_with_the_manifest_beside_them() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let data = directory.path().join("data");
    assert!(check(&data).is_clean());
    let shard = |i: usize| data.join(format!("stripes.tfrecord-{i:05}-of-00003"));
    let (first, second) = (fs::read(shard(0)).unwrap(), fs::read(shard(1)).unwrap());
    // Cut between records.
    let cut = records(&first)[0].len() + 16;
    fs::write(shard(0), &first[..cut]).unwrap();
    let pattern = data.join("stripes.tfrecord*");
    let report = check(&pattern);
    assert!(matches!(report.problems[..], [ref p] if matches!(p.fault, Fault::NotAsListed { .. })));
    assert!(report.problems[0].to_string().contains("it has 1 records in"));
    // Another sound shard in its place.
    fs::write(shard(0), &second).unwrap();
    assert!(!check(&pattern).is_clean());
    fs::remove_file(shard(0)).unwrap();
    for asked_for in [&data, &pattern] {
        let report = check(asked_for);
        assert!(matches!(report.problems[..], [ref p] if matches!(p.fault, Fault::Missing)));
        assert!(!report.is_mostly_bad() && report.files == 3);
    }
    // One that was not asked for is not missed.
    assert!(check(&data.join("stripes.tfrecord-0000[12]-*")).is_clean());
    fs::write(data.join("dataset.json"), "{").unwrap();
    assert!(matches!(check(&data).problems[..], [ref p] if matches!(p.fault, Fault::Manifest(_))));
}

#[test]
fn a_request_to_stop_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.tfrecord"), small_shard(directory.path())).unwrap();
    let interrupt = Interrupt::new();
    interrupt.raise();
    let pattern = directory.path().join("*.tfrecord");
    let stopped = verify(pattern.to_str().unwrap(), 1, &Silent, &interrupt);
    assert!(matches!(stopped, Err(VerifyError::Interrupted)));
}

#[test]
fn a_pattern_that_matches_nothing_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let error = |pattern: &str| verify(pattern, 1, &Silent, &Interrupt::new()).unwrap_err();
    let nothing = directory.path().join("*.tfrecord*");
    assert!(matches!(error(nothing.to_str().unwrap()), VerifyError::NothingMatches { .. }));
    assert!(matches!(
        error(directory.path().to_str().unwrap()),
        VerifyError::NothingMatches { .. }
    ));
    assert!(matches!(error("a/***/b"), VerifyError::Pattern { .. }));
    assert!(matches!(verify("x", 0, &Silent, &Interrupt::new()), Err(VerifyError::Setting(_))));
}
