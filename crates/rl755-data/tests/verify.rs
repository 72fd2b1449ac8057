//! Verifying: every damage is found, named and placed.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{collections::BTreeMap, fs, io::Write, path::Path, sync::Mutex};

use prost::Message;
use rl755_data::{
    CollectConfig, Fault, FrameCheck, Problem, VerifyConfig, VerifyError,
    proto::{Feature, FeatureList, SequenceExample},
    record::RecordReader,
    verify,
};
use rl755_run::{Interrupt, Progress, Silent, write_record};
use support::*;

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
    let boundary = records(&shard)[0].len() + 16;
    let sound = check(&path);
    assert!(sound.is_clean() && sound.records == 2 && sound.steps == 8, "{sound:?}");
    assert_eq!(sound.bytes, shard.len() as u64);
    // Many files at a time, each with another bit flipped. They are written over in place: file
    // systems are slow at making files, and flush those that are cut off and written again.
    let bits: Vec<usize> = (0..shard.len() * 8).collect();
    let flipped = directory.path().join("flipped");
    fs::create_dir(&flipped).unwrap();
    for bits in bits.chunks(500) {
        let path = |place: usize| flipped.join(format!("{place:03}.tfrecord"));
        for (place, &bit) in bits.iter().enumerate() {
            let mut damaged = shard.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let mut file = fs::File::options();
            let file = file.write(true).create(true).truncate(false).open(path(place));
            file.unwrap().write_all(&damaged).unwrap();
        }
        let report = check(&flipped);
        for (place, &bit) in bits.iter().enumerate() {
            let found = report.problems.iter().find(|problem| problem.path == path(place));
            let found = found.unwrap_or_else(|| panic!("bit {bit} is not found"));
            let place = if bit / 8 < boundary { (0, 0) } else { (1, boundary as u64) };
            assert_eq!(found.place, Some(place), "bit {bit} of {} bytes", shard.len());
        }
    }
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
    let report = check(directory.path().join("a.tfrecord"));
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
    // Lengths that the samplers would rely on.
    fs::write(shard(0), &first).unwrap();
    let manifest = fs::read_to_string(data.join("dataset.json")).unwrap();
    let mut wrong: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let length = &mut wrong["shards"][0]["lengths"][1];
    *length = (length.as_u64().unwrap() + 1).into();
    fs::write(data.join("dataset.json"), wrong.to_string()).unwrap();
    let report = check(&pattern);
    assert_eq!(report.problems.len(), 1, "{report:?}");
    assert!(report.problems[0].to_string().contains("steps in record 1, but"), "{report:?}");
    fs::write(data.join("dataset.json"), &manifest).unwrap();
    fs::remove_file(shard(0)).unwrap();
    for asked_for in [&data, &pattern] {
        let report = check(asked_for);
        assert!(matches!(report.problems[..], [ref p] if matches!(p.fault, Fault::Missing)));
        assert!(!report.is_mostly_bad() && report.files == 3);
    }
    // One that was not asked for is not missed.
    assert!(check(data.join("stripes.tfrecord-0000[12]-*")).is_clean());
    let kept = [shard(1), shard(2)].map(|path| fs::read(&path).map(|bytes| (path, bytes)).unwrap());
    kept.iter().for_each(|(path, _)| fs::remove_file(path).unwrap());
    for asked_for in [&data, &pattern] {
        assert_eq!(check(asked_for).bad_files().len(), 3, "all are missing");
    }
    kept.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    fs::write(data.join("dataset.json"), "{").unwrap();
    let report = check(&data);
    assert!(matches!(report.problems[..], [ref p] if matches!(p.fault, Fault::Manifest(_))));
    // Two shards are left.
    assert_eq!((report.files, report.bad_files().len()), (3, 1), "a manifest is a file, too");
}

#[test]
fn shards_that_the_manifest_does_not_describe_are_found() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let [data, encoded] = ["data", "encoded"].map(|name| directory.path().join(name));
    encode_into(&data, &encoded, (1, 2), 0);
    // Of the dataset's name, and of another.
    let shard = data.join("stripes.tfrecord-00000-of-00003");
    let stale = data.join("stripes.tfrecord-00000-of-00001");
    fs::copy(&shard, &stale).unwrap();
    fs::copy(&shard, data.join("other.tfrecord-00000-of-00001")).unwrap();
    let report = check(&data);
    assert_eq!(report.problems.len(), 1, "{report:?}");
    assert!(matches!(report.problems[0].fault, Fault::NotListed));
    assert_eq!((report.problems[0].path.as_path(), report.files), (&*stale, 5));
    fs::remove_file(stale).unwrap();
    let misfits = |directory: &Path, edit: &dyn Fn(&mut serde_json::Value)| {
        let path = directory.join("dataset.json");
        let text = fs::read_to_string(&path).unwrap();
        let mut manifest = serde_json::from_str(&text).unwrap();
        edit(&mut manifest);
        fs::write(&path, manifest.to_string()).unwrap();
        let problems = check(directory).problems;
        fs::write(&path, text).unwrap();
        assert!(check(directory).is_clean());
        problems.into_iter().map(|problem| problem.fault.to_string()).collect::<Vec<_>>()
    };
    let found = misfits(&data, &|manifest| manifest["environment"]["id"] = "Spots-v0".into());
    assert_eq!(found, vec!["another environment than the dataset's: Stripes-v0, not Spots-v0"; 3]);
    let encoder = serde_json::from_slice::<serde_json::Value>(
        &fs::read(encoded.join("dataset.json")).unwrap(),
    )
    .unwrap()["encoder"]
        .clone();
    let found = misfits(&data, &|manifest| manifest["encoder"] = encoder.clone());
    assert_eq!(found, vec!["another kind than the dataset's: raw, not encoded"; 3]);
    let found = misfits(&encoded, &|manifest| manifest["encoder"] = serde_json::Value::Null);
    assert_eq!(found, vec!["another kind than the dataset's: encoded, not raw"; 2]);
    let width = encoder["latent_width"].as_u64().unwrap();
    let found =
        misfits(&encoded, &|manifest| manifest["encoder"]["latent_width"] = (width + 1).into());
    let expected = format!("another latent width than the dataset's: {width}, not {}", width + 1);
    assert_eq!(found, vec![expected; 2]);
    let found = misfits(&encoded, &|manifest| manifest["encoder"]["extras"]["place"] = 4.into());
    assert_eq!(
        found,
        vec!["another list of extras than the dataset's: place [3], not place [4]"; 2]
    );
    let digest: String = encoder["digest"].as_str().unwrap().chars().rev().collect();
    let found =
        misfits(&encoded, &|manifest| manifest["encoder"]["digest"] = digest.clone().into());
    assert!(found.len() == 2 && found[0].starts_with("another encoder than"), "{found:?}");
}

#[test]
fn shards_without_rollouts_are_sound_where_they_were_written_so() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let [data, encoded] = ["data", "encoded"].map(|name| directory.path().join(name));
    // Of 2 parts one is complete, with more shards than rollouts.
    encode_into(&data, &encoded, (2, 20), 0);
    let empty = files(&encoded).into_iter().filter(|(_, bytes)| bytes.is_empty()).count();
    assert!(empty >= 10);
    for pattern in [encoded.clone(), encoded.join("latents*")] {
        let report = check(&pattern);
        assert!(report.is_clean() && report.files == 20, "{report:?}");
    }
    fs::remove_dir_all(encoded.join("parts")).unwrap();
    assert_eq!(check(&encoded).bad_files().len(), empty, "nothing says that they are whole");
}

/// The problems that `pattern` has, which must all be of the file system's.
fn unreadable(pattern: &Path) -> Vec<String> {
    let report = check(pattern);
    let is_unreadable = |p: &Problem| matches!(p.fault, Fault::Unreadable(_));
    assert!(report.problems.iter().all(is_unreadable), "{report:?}");
    let name = |p: &Problem| p.path.file_name().unwrap().to_str().unwrap().to_owned();
    report.problems.iter().map(name).collect()
}

#[cfg(unix)]
#[test]
fn links_that_lead_to_nothing_are_found() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.tfrecord"), small_shard(directory.path())).unwrap();
    for (name, target) in [("b.tfrecord", "b.tfrecord"), ("c.tfrecord", "nowhere")] {
        std::os::unix::fs::symlink(target, directory.path().join(name)).unwrap();
    }
    let pattern = directory.path().join("*.tfrecord*");
    for pattern in [directory.path(), &pattern] {
        assert_eq!(unreadable(pattern), ["b.tfrecord", "c.tfrecord"]);
        assert_eq!(check(pattern).files, 3);
    }
}

/// A pipe that was opened would be waited for, without an end.
#[cfg(unix)]
#[test]
fn what_is_no_file_in_place_of_a_shard_or_the_manifest_is_found() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let data = directory.path().join("data");
    let pipe = |path: &Path| {
        fs::remove_file(path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let shard = |i: usize| data.join(format!("stripes.tfrecord-{i:05}-of-00003"));
    pipe(&shard(1));
    fs::remove_file(shard(2)).unwrap();
    fs::create_dir(shard(2)).unwrap();
    pipe(&data.join(".lock"));
    for pattern in [data.clone(), data.join("stripes*"), shard(1)] {
        let report = check(&pattern);
        assert!(report.problems.iter().all(|p| matches!(p.fault, Fault::NotAFile)), "{report:?}");
        let found: Vec<_> = report.problems.into_iter().map(|problem| problem.path).collect();
        assert_eq!(
            found,
            if pattern == shard(1) { vec![shard(1)] } else { vec![shard(1), shard(2)] }
        );
    }
    pipe(&data.join("dataset.json"));
    assert_eq!(unreadable(&data), ["dataset.json"]);
}

#[cfg(unix)]
#[test]
fn directories_that_may_not_be_read_are_found() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let shard = small_shard(directory.path());
    let [open, closed] = ["open", "closed"].map(|name| directory.path().join(name));
    for directory in [&open, &closed] {
        fs::create_dir(directory).unwrap();
        fs::write(directory.join("x.tfrecord"), &shard).unwrap();
    }
    let allow = |mode| fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).unwrap();
    allow(0o000);
    // The superuser may read it all the same.
    if fs::read_dir(&closed).is_err() {
        assert_eq!(unreadable(&directory.path().join("*/x.tfrecord*")), ["closed"]);
    }
    allow(0o755);
}

/// Names as Linux allows them.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_unicode_match_and_hidden_ones_do_not() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let directory = tempfile::tempdir().unwrap();
    let shard = small_shard(directory.path());
    let deep = directory.path().join("d/e").join(OsStr::from_bytes(b"f\xff"));
    fs::create_dir_all(&deep).unwrap();
    for name in [&b"a.tfrecord"[..], b"b\xfe.tfrecord", b".c.tfrecord"] {
        fs::write(directory.path().join(OsStr::from_bytes(name)), &shard).unwrap();
        fs::write(deep.join(OsStr::from_bytes(name)), &shard).unwrap();
    }
    for (pattern, expected) in [
        ("", 2),
        ("*", 2),
        ("./[ab]*.tfrecord", 2),
        (".*", 1),
        ("?.tfrecord", 1),
        ("d/*/f*/../f*/b*", 1),
        ("**/*.tfrecord", 4),
        ("d/**/**/a*", 1),
    ] {
        assert_eq!(check(directory.path().join(pattern)).files, expected, "{pattern}");
    }
}

#[test]
fn a_request_to_stop_ends_it() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.tfrecord"), small_shard(directory.path())).unwrap();
    let interrupt = Interrupt::new();
    interrupt.raise();
    let pattern = directory.path().join("*.tfrecord");
    let stopped = verify(&verify_config(&pattern), &Silent, &interrupt);
    assert!(matches!(stopped, Err(VerifyError::Interrupted)));
}

#[test]
fn a_pattern_that_matches_nothing_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let error =
        |pattern: &Path| verify(&verify_config(pattern), &Silent, &Interrupt::new()).unwrap_err();
    let nothing = directory.path().join("*.tfrecord*");
    assert!(matches!(error(&nothing), VerifyError::NothingMatches { .. }));
    assert!(matches!(error(directory.path()), VerifyError::NothingMatches { .. }));
    assert!(matches!(error(Path::new("a/***/b")), VerifyError::Pattern { .. }));
    let no_threads = VerifyConfig { parallelism: 0, ..verify_config(Path::new("x")) };
    let refused = verify(&no_threads, &Silent, &Interrupt::new());
    assert!(matches!(refused, Err(VerifyError::Setting(_))));
}

#[test]
fn pixels_that_cannot_be_decoded_are_found_where_that_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let records = records(&small_shard(directory.path()));
    let mut example = SequenceExample::decode(&records[0][..]).unwrap();
    // A whole picture whose pixels are no deflate stream.
    let mut pixels = b"IDAT".to_vec();
    pixels.extend([0xff; 20]);
    let chunk = |name_and_data: &[u8]| {
        let length = (name_and_data.len() as u32 - 4).to_be_bytes();
        [&length[..], name_and_data, &crc32(name_and_data).to_be_bytes()].concat()
    };
    let header = b"IHDR\0\0\0\x08\0\0\0\x06\x08\x02\0\0\0";
    let signature = b"\x89PNG\r\n\x1a\n".to_vec();
    let picture = [signature, chunk(header), chunk(&pixels), chunk(b"IEND")].concat();
    lists(&mut example).get_mut("observations").unwrap().feature[2] = Feature::bytes(picture);
    let path = directory.path().join("a.tfrecord");
    let mut bytes = Vec::new();
    write_record(&mut bytes, &example.encode_to_vec()).unwrap();
    write_record(&mut bytes, &records[1]).unwrap();
    fs::write(&path, bytes).unwrap();
    assert!(check(&path).is_clean());
    let closely = VerifyConfig { frames: FrameCheck::Pixels, ..verify_config(&path) };
    let report = verify(&closely, &Silent, &Interrupt::new()).unwrap();
    assert_eq!((report.problems.len(), report.problems[0].place), (1, Some((0, 0))));
    let text = report.problems[0].to_string();
    assert!(text.contains("`observations` of step 2: "), "{text}");
}

/// The checksum of PNG's chunks: CRC-32 bit by bit, as in the PNG specification, annex D.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, &byte: &u8| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    };
    !bytes.iter().fold(!0, step)
}

#[test]
fn progress_is_told_in_bytes() {
    #[derive(Default)]
    struct Told(Mutex<Vec<(u64, u64)>>);
    impl Progress for Told {
        fn set(&self, done: u64, total: u64) {
            self.0.lock().unwrap().push((done, total));
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let shard = small_shard(directory.path());
    // Nothing can be found after a damaged header, but the rest is read for the digest.
    let damaged: Vec<u8> = shard.iter().map(|byte| !byte).collect();
    fs::write(directory.path().join("a.tfrecord"), &shard).unwrap();
    fs::write(directory.path().join("b.tfrecord"), &damaged).unwrap();
    let told = Told::default();
    let report = verify(&verify_config(directory.path()), &told, &Interrupt::new()).unwrap();
    assert_eq!(report.bad_files().len(), 1);
    let total = 2 * shard.len() as u64;
    let told = told.0.into_inner().unwrap();
    assert_eq!((told[0], *told.iter().max().unwrap()), ((0, total), (total, total)));
}
