//! Packing the original project's files into datasets of ours.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
};

use prost::Message;
use rl755_data::{
    Dataset, EncodedRollout, FrameFormat, FrameShape, OnCorrupt, OriginalInput, OriginalRollout,
    PackConfig, PackError, PackInput, Rollout, StoredRollout, pack,
    proto::{Feature, FeatureList, FeatureLists, SequenceExample},
    record::index_records,
};
use rl755_env::{EnvSpec, Space};
use rl755_run::{Interrupt, Silent, write_record};
use support::*;

fn spec() -> EnvSpec {
    EnvSpec {
        id: "Pixels-v0".to_owned(),
        observation_space: Space::Image { height: 4, width: 5, channels: 3 },
        action_space: Space::Box { low: vec![-1.0; 3], high: vec![1.0; 3] },
        max_episode_steps: None,
        rules: String::new(),
    }
}

/// A record of the original's with `steps` steps, which differs from those of other numbers.
fn original(number: u8, steps: u8, observation: impl Fn(u8) -> Feature) -> Vec<u8> {
    let list = |feature: &dyn Fn(u8) -> Feature| FeatureList {
        feature: (0..steps).map(feature).collect(),
    };
    let action = |t| vec![f32::from(t) / 100.0, f32::from(number) / 100.0, 0.5, 9.0];
    let feature_list = [
        ("observations", list(&observation)),
        ("actions", list(&|t| Feature::floats(action(t)))),
        ("rewards", list(&|t| Feature::floats(vec![f32::from(t)]))),
    ];
    let feature_list = feature_list.map(|(key, list)| (key.to_owned(), list)).into();
    SequenceExample { context: None, feature_lists: Some(FeatureLists { feature_list }) }
        .encode_to_vec()
}

fn raw(number: u8) -> Vec<u8> {
    let shape = FrameShape { height: 4, width: 5, channels: 3 };
    original(number, 3 + number % 4, |t| {
        let frame: Vec<u8> = (0..60).map(|i: u8| i.wrapping_mul(number + 1) ^ t).collect();
        Feature::bytes(FrameFormat::Tensor.encode(shape, &frame).unwrap())
    })
}

fn encoded(number: u8) -> Vec<u8> {
    original(number, 6, |t| Feature::floats(vec![f32::from(t), f32::from(number)]))
}

/// Writes two files of the records of `numbers`, half of them each, and gives their pattern.
fn write(directory: &Path, record: fn(u8) -> Vec<u8>, numbers: std::ops::Range<u8>) -> String {
    let half = numbers.start + numbers.len() as u8 / 2;
    for (file, numbers) in [numbers.start..half, half..numbers.end].into_iter().enumerate() {
        let mut bytes = Vec::new();
        numbers.for_each(|number| write_record(&mut bytes, &record(number)).unwrap());
        fs::write(file_of(directory, file), bytes).unwrap();
    }
    directory.join("orig.tfrecord*").to_str().unwrap().to_owned()
}

fn file_of(directory: &Path, file: usize) -> PathBuf {
    directory.join(format!("orig.tfrecord-0000{file}-of-00002"))
}

fn config(tfrecords: &str, out_dir: &Path) -> PackConfig {
    PackConfig {
        input: PackInput::Original(OriginalInput {
            tfrecords: tfrecords.to_owned(),
            environment: spec(),
            frame_format: FrameFormat::Png,
        }),
        ..pack_config(Path::new(""), out_dir)
    }
}

fn assert_clean(directory: &Path) {
    let report = check(directory);
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[test]
fn the_files_that_are_packed_are_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let pattern = write(directory.path(), raw, 0..9);
    let before = files(directory.path());
    let config = PackConfig { out_name: "orig".to_owned(), ..config(&pattern, directory.path()) };
    let error = pack(&config, &Silent, &Interrupt::new()).unwrap_err().to_string();
    assert!(error.contains("is not from here, and would be replaced"), "{error}");
    let mut after = files(directory.path());
    after.retain(|name, _| before.contains_key(name));
    assert_eq!(after, before);
}

#[test]
fn raw_files_become_a_dataset_whatever_the_format_of_frames_and_the_threads() {
    let directory = tempfile::tempdir().unwrap();
    let pattern = write(directory.path(), raw, 0..9);
    for (name, frame_format) in [("png", FrameFormat::Png), ("tensor", FrameFormat::Tensor)] {
        let data = directory.path().join(name);
        let mut config = config(&pattern, &data);
        let PackInput::Original(input) = &mut config.input else { unreachable!() };
        input.frame_format = frame_format;
        let report = pack_all(&config);
        assert_eq!((report.written, report.skipped.len()), (5, 0));
        assert_clean(&data);
        let dataset = Dataset::open(&data).unwrap();
        assert_eq!(dataset.manifest().environment, spec());
        assert_eq!(dataset.manifest().config["frame_format"], name);
        assert_eq!(dataset.len(), 9);
        for number in 0..9 {
            let record = raw(number);
            let expected = OriginalRollout::parse(&record).unwrap().rollout(&spec()).unwrap();
            assert_eq!(dataset.rollout::<Rollout>(usize::from(number)).unwrap(), expected);
        }
        let threads = directory.path().join("threads");
        pack_all(&PackConfig { parallelism: 3, out_dir: threads.clone(), ..config });
        assert_eq!(files(&data), files(&threads));
        fs::remove_dir_all(threads).unwrap();
    }
}

#[test]
fn encoded_files_become_an_encoded_dataset() {
    let directory = tempfile::tempdir().unwrap();
    let pattern = write(directory.path(), encoded, 0..6);
    let data = directory.path().join("data");
    pack_all(&config(&pattern, &data));
    assert_clean(&data);
    let dataset = Dataset::open(&data).unwrap();
    let encoder = dataset.manifest().encoder.clone().unwrap();
    assert_eq!((encoder.name.as_str(), encoder.latent_width), ("original", 2));
    for number in 0..6 {
        let record = encoded(number);
        let original = OriginalRollout::parse(&record).unwrap();
        let expected = original.encoded(&spec(), &encoder.digest).unwrap();
        let rollout: EncodedRollout = dataset.rollout(usize::from(number)).unwrap();
        rollout.check_fits(dataset.manifest()).unwrap();
        assert_eq!(rollout, expected);
    }
}

#[test]
fn interrupted_packing_of_originals_goes_on_to_the_same_dataset() {
    let directory = tempfile::tempdir().unwrap();
    let pattern = write(directory.path(), raw, 0..8);
    let (whole, parts) = (directory.path().join("whole"), directory.path().join("parts"));
    pack_all(&config(&pattern, &whole));
    // While checking, in the middle of writing, and near its end.
    for at in [2, 5, 7] {
        let interrupt = Interrupt::new();
        let progress = StopAt(at, interrupt.clone());
        let error = pack(&config(&pattern, &parts), &progress, &interrupt).unwrap_err();
        assert!(matches!(error, PackError::Interrupted), "{error}");
        assert!(Dataset::open(&parts).is_err(), "no dataset before it is complete");
    }
    assert!(pack_all(&config(&pattern, &parts)).kept >= 1);
    assert_eq!(files(&parts), files(&whole));
    // Other frames of the same shapes are another plan: nothing is kept.
    write(directory.path(), raw, 8..16);
    assert_eq!(pack_all(&config(&pattern, &parts)).kept, 0);
}

#[test]
fn damaged_records_are_named_and_left_out_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let pattern = write(directory.path(), raw, 0..8);
    // A flipped bit in record 1 of the first file, and the second ends within its record 2.
    let first = file_of(directory.path(), 0);
    let mut bytes = fs::read(&first).unwrap();
    let offset = index_records(&first).unwrap()[1].offset;
    bytes[offset as usize + 40] ^= 1;
    fs::write(&first, bytes).unwrap();
    let second = file_of(directory.path(), 1);
    let bytes = fs::read(&second).unwrap();
    let offset = index_records(&second).unwrap()[2].offset;
    fs::write(&second, &bytes[..offset as usize + 99]).unwrap();
    let data = directory.path().join("data");
    let error = pack(&config(&pattern, &data), &Silent, &Interrupt::new()).unwrap_err().to_string();
    assert!(error.starts_with("2 of 7 rollouts are damaged: "), "{error}");
    assert!(error.contains("00000-of-00002: record 1 at byte "), "{error}");
    assert!(error.contains(&format!("00001-of-00002: record 2 at byte {offset}: the file ends")));
    assert!(!data.exists());
    let report = pack_all(&PackConfig { on_corrupt: OnCorrupt::Skip, ..config(&pattern, &data) });
    assert_eq!((report.dataset.len(), report.skipped.len()), (5, 2));
    assert_eq!(report.dataset.manifest().skipped, report.skipped);
    assert_clean(&data);
}

#[test]
fn an_empty_file_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let pattern = write(directory.path(), raw, 0..8);
    fs::write(file_of(directory.path(), 1), "").unwrap();
    let data = directory.path().join("data");
    let error = pack(&config(&pattern, &data), &Silent, &Interrupt::new()).unwrap_err().to_string();
    assert!(error.starts_with("1 of 5 rollouts are damaged: "), "{error}");
    assert!(error.ends_with("orig.tfrecord-00001-of-00002: it is empty"), "{error}");
    let report = pack_all(&PackConfig { on_corrupt: OnCorrupt::Skip, ..config(&pattern, &data) });
    assert_eq!((report.dataset.len(), report.skipped.len()), (4, 1));
}

#[test]
fn frames_without_pixels_are_refused() {
    for [height, width, channels] in [[0, 5, 3], [4, 0, 3], [4, 5, 0]] {
        let frame = FrameFormat::Tensor.encode(FrameShape { height, width, channels }, &[]);
        let frame = frame.unwrap();
        let record = original(0, 3, |_| Feature::bytes(frame.clone()));
        let error = OriginalRollout::parse(&record).unwrap_err().to_string();
        let needed = "where 1 to 67108864 values is needed";
        assert_eq!(error, format!("`observations`: [{height}, {width}, {channels}], {needed}"));
    }
}

#[test]
fn what_does_not_fit_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let check = |config: &PackConfig, expected: &str| {
        let error = pack(config, &Silent, &Interrupt::new()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!data.exists(), "{expected}");
    };
    let nothing = directory.path().join("nothing*");
    check(&config(nothing.to_str().unwrap(), &data), "no records in files of");
    let pattern = write(directory.path(), raw, 0..4);
    let mut other = config(&pattern, &data);
    let PackInput::Original(input) = &mut other.input else { unreachable!() };
    input.environment.observation_space = Space::Image { height: 96, width: 96, channels: 3 };
    check(&other, "4 of 4 rollouts are damaged");
    check(&other, "frames of 4x5x3, where [96, 96, 3] of u8 as in Pixels-v0");
    // One file raw, the other encoded.
    let mut bytes = Vec::new();
    write_record(&mut bytes, &encoded(1)).unwrap();
    fs::write(file_of(directory.path(), 1), bytes).unwrap();
    check(&config(&pattern, &data), "record 0 is encoded with 2 values, unlike the first");
    // Our own rollouts.
    let rollouts = directory.path().join("rollouts");
    collect_all(&support::config(&rollouts));
    check(&config(rollouts.to_str().unwrap(), &data), "a rollout of this program's own schema");
    // Theirs, given as ours.
    let mut bytes = Vec::new();
    write_record(&mut bytes, &raw(1)).unwrap();
    fs::write(rollouts.join("rollout-0001-000000.tfrecord"), bytes).unwrap();
    check(&pack_config(&rollouts, &data), "it is a file of the original project; give it as");
}
