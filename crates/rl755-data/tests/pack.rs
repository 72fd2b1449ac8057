//! Packing: determinism, resuming, plans that change, and what goes wrong.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
};

use rl755_data::{
    CollectConfig, Dataset, DatasetError, OnCorrupt, PackConfig, PackError, PackInput, Rollout,
    pack, record::RecordReader,
};
use rl755_run::{Interrupt, RunLock, Silent, write_record};
use support::*;

fn try_pack(config: &PackConfig) -> Result<(), PackError> {
    pack(config, &Silent, &Interrupt::new()).map(|_| ())
}

fn assert_clean(directory: &Path) {
    let report = check(directory);
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[test]
fn a_dataset_holds_the_rollouts_in_order_in_shards_of_its_splits() {
    let directory = tempfile::tempdir().unwrap();
    let report = dataset(directory.path(), |c| c.num_rollouts = 12);
    assert_eq!((report.written, report.kept), (7, 0));
    let dataset = Dataset::open(&directory.path().join("data")).unwrap();
    let names: Vec<_> = dataset.manifest().shards.iter().map(|s| s.file.as_str()).collect();
    assert_eq!((names.len(), names[3]), (7, "stripes.tfrecord-00003-of-00007"));
    assert_eq!(dataset.split("train").unwrap().range(), 0..9);
    assert_eq!(dataset.split("validation").unwrap().range(), 9..12);
    // At most 2 rollouts in a shard, and as even as possible within each split.
    let sizes: Vec<_> = dataset.manifest().shards.iter().map(|s| s.rollouts()).collect();
    assert_eq!(sizes, [2, 2, 2, 2, 1, 2, 1]);
    let (rollouts, data) = (directory.path().join("rollouts"), directory.path().join("fours"));
    let fours = PackConfig { rollouts_per_tfrecord_file: 4, ..pack_config(&rollouts, &data) };
    let report = pack_all(&fours);
    let shards = report.dataset.manifest().shards.iter();
    assert_eq!(shards.map(|s| s.rollouts()).collect::<Vec<_>>(), [3, 3, 3, 3]);
}

#[test]
fn packed_rollouts_are_the_collected_ones() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let data = directory.path().join("data");
    // The manifest's path opens the dataset too.
    let dataset = Dataset::open(&data.join("dataset.json")).unwrap();
    let rollouts = files(&directory.path().join("rollouts"));
    let packed: Vec<u8> = dataset
        .manifest()
        .shards
        .iter()
        .flat_map(|shard| fs::read(data.join(&shard.file)).unwrap())
        .collect();
    assert_eq!(packed, rollouts.into_values().flatten().collect::<Vec<u8>>());
    let all = dataset.split("all").unwrap();
    let read: Vec<Rollout> = all.rollouts().collect::<Result<_, _>>().unwrap();
    assert_eq!(read.len(), 6);
    assert_eq!(read[4], dataset.rollout(4).unwrap());
    let steps = read.iter().map(|r| r.steps() as u64).sum::<u64>();
    assert_eq!(steps, dataset.manifest().steps());
    assert_clean(&data);
}

#[test]
fn threads_do_not_change_the_dataset() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let rollouts = directory.path().join("rollouts");
    let (one, three) = (directory.path().join("data"), directory.path().join("three"));
    pack_all(&PackConfig { parallelism: 3, ..pack_config(&rollouts, &three) });
    assert_eq!(files(&one), files(&three));
}

#[test]
fn packing_again_keeps_sound_shards_and_writes_damaged_ones_anew() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let (rollouts, data) = (directory.path().join("rollouts"), directory.path().join("data"));
    let before = files(&data);
    let config = pack_config(&rollouts, &data);
    let again = pack_all(&config);
    assert_eq!((again.kept, again.written), (3, 0));
    let shard = data.join("stripes.tfrecord-00001-of-00003");
    let mut bytes = fs::read(&shard).unwrap();
    bytes[100] ^= 4;
    fs::write(&shard, bytes).unwrap();
    let mended = pack_all(&config);
    assert_eq!((mended.kept, mended.written), (2, 1));
    assert_eq!(files(&data), before);
}

#[test]
fn a_changed_plan_replaces_the_dataset_and_its_shards() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let (rollouts, data) = (directory.path().join("rollouts"), directory.path().join("data"));
    let other = data.join("notes.txt");
    fs::write(&other, "mine").unwrap();
    let before = Dataset::open(&data).unwrap().digest();
    collect_all(&config(&rollouts));
    pack_all(&pack_config(&rollouts, &data));
    let dataset = Dataset::open(&data).unwrap();
    assert_ne!(dataset.digest(), before);
    assert_eq!(dataset.len(), 12);
    // 7 shards, the manifest and the file that is not ours.
    assert_eq!(files(&data).len(), 9);
    assert_clean(&data);
    // A fresh directory gets the same.
    let fresh = directory.path().join("fresh");
    pack_all(&pack_config(&rollouts, &fresh));
    fs::remove_file(other).unwrap();
    assert_eq!(files(&data), files(&fresh));
}

#[test]
fn interrupted_packing_goes_on_to_the_same_dataset() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let (rollouts, whole) = (directory.path().join("rollouts"), directory.path().join("data"));
    let parts = directory.path().join("parts");
    let config = pack_config(&rollouts, &parts);
    // In the middle of checking, at its end, in the middle of copying, and near its end.
    for at in [1, 3, 4, 5] {
        let interrupt = Interrupt::new();
        let error = pack(&config, &StopAt(at, interrupt.clone()), &interrupt).unwrap_err();
        assert!(matches!(error, PackError::Interrupted), "{error}");
        assert!(Dataset::open(&parts).is_err(), "no dataset before it is complete");
    }
    assert!(pack_all(&config).kept >= 1);
    assert_eq!(files(&parts), files(&whole));
    assert!(temporaries(&parts).is_empty());
}

#[test]
fn damaged_rollouts_are_named_and_left_out_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let rollouts = directory.path().join("rollouts");
    collect_all(&config(&rollouts));
    let damaged = rollouts.join("rollout-0000-000002.tfrecord");
    let mut bytes = fs::read(&damaged).unwrap();
    let last = bytes.len() - 1;
    bytes[last / 2] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    fs::write(rollouts.join("rollout-0000-000004.tfrecord"), b"").unwrap();
    let config = pack_config(&rollouts, &directory.path().join("data"));
    let error = try_pack(&config).unwrap_err().to_string();
    assert!(error.starts_with("2 of 6 rollouts are damaged: "), "{error}");
    assert!(error.contains("000002.tfrecord: record 0 at byte 0: the checksum of its data"));
    assert!(error.contains("000004.tfrecord: it has 0 records, not 1"), "{error}");
    assert!(!directory.path().join("data").exists());
    let report = pack_all(&PackConfig { on_corrupt: OnCorrupt::Skip, ..config });
    assert_eq!((report.dataset.len(), report.skipped.len()), (4, 2));
    assert_eq!(report.skipped[0].path, damaged);
}

#[test]
fn a_picture_that_cannot_be_decoded_is_found_whatever_surrounds_it() {
    let directory = tempfile::tempdir().unwrap();
    let rollouts = directory.path().join("rollouts");
    collect_all(&config(&rollouts));
    let path = rollouts.join("rollout-0000-000003.tfrecord");
    let bytes = fs::read(&path).unwrap();
    let mut reader = RecordReader::new(&bytes[..]);
    let mut record = reader.next_record().unwrap().unwrap().to_vec();
    let pixels = record.windows(4).position(|bytes| bytes == b"IDAT").unwrap() + 4;
    record[pixels + 8] ^= 1;
    let mut framed = Vec::new();
    write_record(&mut framed, &record).unwrap();
    fs::write(&path, framed).unwrap();
    let config = pack_config(&rollouts, &directory.path().join("data"));
    let error = try_pack(&config).unwrap_err().to_string();
    assert!(
        error.contains("000003.tfrecord: record 0 at byte 0: `observations` of step 0"),
        "{error}"
    );
}

#[test]
fn unfinished_sessions_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let rollouts = directory.path().join("rollouts");
    let failing = CollectConfig { environment: "Failing-v0".to_owned(), ..config(&rollouts) };
    let policies = rl755_data::PolicyRegistry::with_builtin();
    rl755_data::collect(&failing, &environments(), &policies, &Silent, &Interrupt::new())
        .unwrap_err();
    let report = pack_all(&pack_config(&rollouts, &directory.path().join("data")));
    assert_eq!((report.open_sessions, report.dataset.len()), (vec![0], 2));
}

#[test]
fn rollouts_of_two_environments_are_not_mixed() {
    let directory = tempfile::tempdir().unwrap();
    let rollouts = directory.path().join("rollouts");
    collect_all(&config(&rollouts));
    let others = directory.path().join("others");
    let config = CollectConfig { environment: "CartPole-v1".to_owned(), ..config(&others) };
    collect_all(&config);
    let from = others.join("rollout-0000-000000.tfrecord");
    fs::copy(from, rollouts.join("rollout-0001-000000.tfrecord")).unwrap();
    let error = try_pack(&pack_config(&rollouts, &directory.path().join("data"))).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("rollout-0001-000000.tfrecord is a rollout of CartPole-v1"), "{text}");
}

#[test]
fn wrong_requests_are_refused_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let rollouts = directory.path().join("rollouts");
    collect_all(&config(&rollouts));
    let data = directory.path().join("data");
    let check = |edit: &dyn Fn(&mut PackConfig), expected: &str| {
        let mut config = pack_config(&rollouts, &data);
        edit(&mut config);
        let error = try_pack(&config).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!data.exists(), "{expected}");
    };
    check(&|c| c.rollouts_per_tfrecord_file = 0, "rollouts_per_tfrecord_file is 0");
    check(&|c| c.parallelism = 0, "parallelism is 0");
    check(&|c| c.validation_fraction = 1.0, "validation_fraction is 1");
    check(&|c| c.validation_fraction = f64::NAN, "validation_fraction is NaN");
    check(&|c| c.out_name = "../x".to_owned(), "out_name is `../x`");
    check(&|c| c.out_name = ".x".to_owned(), "out_name is `.x`");
    let from = |directory: PathBuf| PackInput::RolloutDir(directory);
    check(&|c| c.input = from(directory.path().join("no")), "no: No such file or directory");
    check(&|c| c.input = from(directory.path().to_owned()), "has no rollouts");
}

#[test]
fn a_directory_holds_one_dataset() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let (rollouts, data) = (directory.path().join("rollouts"), directory.path().join("data"));
    let config = PackConfig { out_name: "cars".to_owned(), ..pack_config(&rollouts, &data) };
    let error = try_pack(&config).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("already holds the raw dataset `stripes`; give another directory")
    );
    // Nor is one replaced of which nobody can tell what it is.
    let manifest = data.join("dataset.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let other = text.replacen("\"format\": 2", "\"format\": 1", 1);
    for (text, reason) in [(other.as_str(), "format 1; this program reads 2"), ("{", "EOF")] {
        fs::write(&manifest, text).unwrap();
        let before = files(&data);
        let error = try_pack(&pack_config(&rollouts, &data)).unwrap_err().to_string();
        assert!(error.contains("has a manifest that this version cannot read: "), "{error}");
        assert!(error.contains(reason), "{error}");
        assert_eq!(files(&data), before);
    }
    fs::remove_file(&manifest).unwrap();
    assert_eq!(pack_all(&pack_config(&rollouts, &data)).written, 0);
}

#[test]
fn a_dataset_that_is_read_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let (rollouts, data) = (directory.path().join("rollouts"), directory.path().join("data"));
    let reading = Dataset::open(&data).unwrap();
    let error = try_pack(&pack_config(&rollouts, &data)).unwrap_err();
    assert!(matches!(error, PackError::Busy { .. }), "{error}");
    drop(reading);
    let writing = RunLock::try_take(&data.join(".lock")).unwrap();
    let error = Dataset::open(&data).unwrap_err();
    assert!(matches!(error, DatasetError::Busy { .. }), "{error}");
    drop(writing);
    pack_all(&pack_config(&rollouts, &data));
}
