//! Removing bad files: only them, only when that is sensible, and so that the stage that wrote them
//! writes them again.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use rl755_data::{
    CollectConfig, Dataset, EncodedPart, IfMostlyBad, Maker, Removal, RemovalError, VerifyConfig,
    VerifyError, VerifyReport, verify,
};
use rl755_run::{Interrupt, Silent};
use support::*;

fn check_alone(pattern: &Path) -> VerifyReport {
    let config = VerifyConfig { exclusive: true, ..verify_config(pattern) };
    verify(&config, &Silent, &Interrupt::new()).unwrap()
}

/// Flips a bit; a second time it is sound again.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(path, bytes).unwrap();
}

/// A dataset, and the path of its second shard, which is damaged.
fn damaged_dataset(directory: &Path) -> (PathBuf, PathBuf) {
    dataset(directory, |_| {});
    let data = directory.join("data");
    let shard = data.join("stripes.tfrecord-00001-of-00003");
    damage(&shard);
    (data, shard)
}

#[test]
fn packing_again_writes_a_deleted_shard_again() {
    let directory = tempfile::tempdir().unwrap();
    let (data, shard) = damaged_dataset(directory.path());
    damage(&shard);
    let before = files(&data);
    damage(&shard);
    let report = check_alone(&data);
    assert_eq!(report.makers(), BTreeSet::from([Maker::Packing]));
    let removed = report.remove_bad_files(&Removal::Delete, IfMostlyBad::Refuse).unwrap();
    assert!(matches!(&removed[..], [only] if only.path == shard && only.moved_to.is_none()));
    drop(report);
    assert!(!shard.exists());
    assert!(!check(&data).is_clean(), "it is missing");
    let report = pack_all(&pack_config(&directory.path().join("rollouts"), &data));
    assert_eq!((report.kept, report.written), (2, 1));
    assert_eq!(files(&data), before);
    assert!(check(&data).is_clean());
}

#[test]
fn collecting_again_collects_a_deleted_rollout_again() {
    let directory = tempfile::tempdir().unwrap();
    let config = CollectConfig { once: true, ..config(directory.path()) };
    collect_all(&config);
    let before = files(directory.path());
    damage(&directory.path().join("rollout-0000-000002.tfrecord"));
    let report = check_alone(directory.path());
    assert_eq!(report.makers(), BTreeSet::from([Maker::Collecting]));
    report.remove_bad_files(&Removal::Delete, IfMostlyBad::Refuse).unwrap();
    assert_eq!(files(directory.path()).len(), before.len() - 1);
    assert_eq!(collect_all(&config).collected, 1);
    assert_eq!(files(directory.path()), before);
}

#[test]
fn encoding_again_writes_a_deleted_shard_again() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let out_dir = directory.path().join("encoded");
    // Gives how many shards it wrote.
    let encode = || {
        let (shards, dataset) = encode_into(&directory.path().join("data"), &out_dir, (1, 3), 0);
        assert!(dataset.is_some());
        shards
    };
    assert_eq!(encode(), 3);
    let before = files(&out_dir);
    damage(&out_dir.join("latents.tfrecord-00002-of-00003"));
    let report = check_alone(&out_dir);
    assert_eq!(report.makers(), BTreeSet::from([Maker::Encoding]));
    report.remove_bad_files(&Removal::Delete, IfMostlyBad::Refuse).unwrap();
    drop(report);
    assert_eq!(files(&out_dir).len(), before.len() - 1);
    assert_eq!(encode(), 1);
    assert_eq!(files(&out_dir), before);
    assert!(check(&out_dir).is_clean());
}

#[test]
fn quarantined_files_keep_their_names_and_replace_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (data, shard) = damaged_dataset(directory.path());
    let quarantine = directory.path().join("bad/ones");
    let removal = Removal::Quarantine(quarantine.clone());
    let name = shard.file_name().unwrap();
    for moved_to in [quarantine.join(name), quarantine.join(format!("{}.1", name.display()))] {
        let damaged = fs::read(&shard).unwrap();
        let removed = check_alone(&data).remove_bad_files(&removal, IfMostlyBad::Refuse).unwrap();
        assert_eq!(removed[0].moved_to.as_ref(), Some(&moved_to));
        assert!(!shard.exists());
        assert_eq!(fs::read(&moved_to).unwrap(), damaged);
        pack_all(&pack_config(&directory.path().join("rollouts"), &data));
        fs::write(&shard, "other damage").unwrap();
    }
    let here = Removal::Quarantine(data.join("../data"));
    let refused = check_alone(&data).remove_bad_files(&here, IfMostlyBad::Refuse);
    assert!(matches!(refused, Err(RemovalError::SameDirectory { .. })));
}

/// Another file system, as /dev/shm is on Linux.
#[cfg(target_os = "linux")]
#[test]
fn quarantine_may_lie_on_another_file_system() {
    let directory = tempfile::tempdir().unwrap();
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { return };
    let (data, shard) = damaged_dataset(directory.path());
    let damaged = fs::read(&shard).unwrap();
    fs::write(elsewhere.path().join(shard.file_name().unwrap()), "taken").unwrap();
    let removal = Removal::Quarantine(elsewhere.path().to_owned());
    let removed = check_alone(&data).remove_bad_files(&removal, IfMostlyBad::Refuse).unwrap();
    assert!(!shard.exists());
    assert_eq!(fs::read(removed[0].moved_to.as_ref().unwrap()).unwrap(), damaged);
    assert_eq!(files(elsewhere.path()).len(), 2);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_moved_is_not_copied_and_what_was_moved_before_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let rollouts = directory.path().join("rollouts");
    let one = CollectConfig { num_rollouts: 1, ..config(&rollouts) };
    collect_all(&one);
    let [(name, bytes)] = &files(&rollouts).into_iter().collect::<Vec<_>>()[..] else { panic!() };
    let [open, closed] = ["a", "b"].map(|name| directory.path().join(name));
    for (directory, bytes) in [(&open, &bytes[1..]), (&closed, &bytes[2..])] {
        fs::create_dir(directory).unwrap();
        fs::write(directory.join(name), bytes).unwrap();
    }
    let quarantine = directory.path().join("bad");
    let removal = Removal::Quarantine(quarantine.clone());
    let allow = |mode| fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).unwrap();
    allow(0o555);
    // The superuser may write there all the same.
    if fs::write(closed.join("probe"), "").is_err() {
        for moved in [vec![open.join(name)], vec![]] {
            let Err(RemovalError::Io { path, removed, .. }) =
                check_alone(&directory.path().join("[ab]/*"))
                    .remove_bad_files(&removal, IfMostlyBad::Remove)
            else {
                panic!("it was removed")
            };
            assert_eq!(path, closed.join(name));
            assert_eq!(removed.into_iter().map(|file| file.path).collect::<Vec<_>>(), moved);
            assert_eq!(files(&quarantine).len(), 1);
        }
    }
    allow(0o755);
}

/// A link is no second name of its file: what it points to stays.
#[cfg(unix)]
#[test]
fn a_link_to_a_bad_file_is_removed_and_what_it_points_to_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let (data, shard) = damaged_dataset(directory.path());
    let target = directory.path().join("elsewhere");
    fs::rename(&shard, &target).unwrap();
    std::os::unix::fs::symlink("../elsewhere", &shard).unwrap();
    let removal = Removal::Quarantine(directory.path().join("bad/ones"));
    let removed = check_alone(&data).remove_bad_files(&removal, IfMostlyBad::Refuse).unwrap();
    assert!(!shard.is_symlink() && target.exists());
    let moved_to = removed[0].moved_to.as_ref().unwrap();
    assert_eq!(fs::read(moved_to).unwrap(), fs::read(target).unwrap());
}

#[test]
fn nothing_is_touched_when_most_of_the_set_is_bad() {
    let directory = tempfile::tempdir().unwrap();
    let (data, _) = damaged_dataset(directory.path());
    damage(&data.join("stripes.tfrecord-00000-of-00003"));
    let before = files(&data);
    let report = check_alone(&data);
    let refused = report.remove_bad_files(&Removal::Delete, IfMostlyBad::Refuse);
    assert!(matches!(refused, Err(RemovalError::MostlyBad { bad: 2, files: 3 })));
    assert_eq!(files(&data), before);
    assert_eq!(report.remove_bad_files(&Removal::Delete, IfMostlyBad::Remove).unwrap().len(), 2);
    assert_eq!(files(&data).len(), before.len() - 2);
}

#[test]
fn nothing_is_removed_under_a_reader_and_no_reader_comes_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let (data, _) = damaged_dataset(directory.path());
    let reader = Dataset::open(&data).unwrap();
    let config = VerifyConfig { exclusive: true, ..verify_config(&data) };
    let busy = verify(&config, &Silent, &Interrupt::new());
    assert!(matches!(busy, Err(VerifyError::Busy { .. })));
    // Only looking is possible beside readers, but removes nothing.
    let looked = check(&data);
    let refused = looked.remove_bad_files(&Removal::Delete, IfMostlyBad::Remove);
    assert!(matches!(refused, Err(RemovalError::NotLocked)));
    drop(reader);
    let report = check_alone(&data);
    assert!(Dataset::open(&data).is_err());
    let busy = verify(&verify_config(&data), &Silent, &Interrupt::new());
    assert!(matches!(busy, Err(VerifyError::Busy { .. })), "files may be about to change");
    drop(report);
    assert!(Dataset::open(&data).is_ok());
}

#[test]
fn a_manifest_that_is_not_known_to_be_bad_stays() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let data = directory.path().join("data");
    let manifest = data.join("dataset.json");
    let text = fs::read_to_string(&manifest).unwrap();
    assert!(check(data.join("*")).is_clean(), "it has no records");
    let remove = || {
        let report = check_alone(&data);
        assert_eq!((report.files, report.bad_files().len()), (4, 1), "{report:?}");
        let makers = report.makers();
        (makers, report.remove_bad_files(&Removal::Delete, IfMostlyBad::Remove).unwrap().len())
    };
    fs::write(&manifest, text.replace("\"format\": 2", "\"format\": 1")).unwrap();
    assert_eq!(remove(), (BTreeSet::new(), 0), "it is of another version");
    // What the file system refuses to read says nothing of what it holds.
    fs::remove_file(&manifest).unwrap();
    fs::create_dir(&manifest).unwrap();
    assert_eq!(remove(), (BTreeSet::new(), 0), "it cannot be read");
    fs::remove_dir(&manifest).unwrap();
    fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    assert_eq!(remove(), (BTreeSet::from([Maker::Packing]), 1));
    pack_all(&pack_config(&directory.path().join("rollouts"), &data));
    assert_eq!(fs::read_to_string(&manifest).unwrap(), text);
}

#[test]
fn what_wrote_a_file_is_known_without_a_manifest() {
    let directory = tempfile::tempdir().unwrap();
    let (data, _) = damaged_dataset(directory.path());
    let makers = |directory: &Path| {
        fs::remove_file(directory.join("dataset.json")).unwrap();
        check_alone(directory).makers()
    };
    assert_eq!(makers(&data), BTreeSet::from([Maker::Packing]));
    pack_all(&pack_config(&directory.path().join("rollouts"), &data));
    let out_dir = directory.path().join("encoded");
    encode_into(&data, &out_dir, (1, 2), 0);
    damage(&out_dir.join("latents.tfrecord-00000-of-00002"));
    assert_eq!(makers(&out_dir), BTreeSet::from([Maker::Encoding]));
    // Nothing here writes the original project's files.
    let original = directory.path().join("original");
    fs::create_dir(&original).unwrap();
    fs::write(original.join("cars.tfrecord-00000-of-00001"), "damaged").unwrap();
    let report = check_alone(&original);
    assert!(!report.is_clean() && report.makers().is_empty());
}

#[test]
fn nothing_is_removed_while_a_part_is_encoded() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let [data, out_dir] = ["data", "encoded"].map(|name| directory.path().join(name));
    encode_into(&data, &out_dir, (2, 1), 0);
    let source = Dataset::open(&data).unwrap().split("all").unwrap();
    let part = EncodedPart::begin(part_config(&out_dir, (2, 1), 1), source, encoder()).unwrap();
    let config = VerifyConfig { exclusive: true, ..verify_config(&out_dir) };
    let busy = verify(&config, &Silent, &Interrupt::new());
    assert!(matches!(busy, Err(VerifyError::Busy { .. })));
    drop(part);
    assert!(check_alone(&out_dir).is_clean());
}
