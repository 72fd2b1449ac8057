//! Removing bad files: only them, only when that is sensible, and so that the stage that wrote them
//! writes them again.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use ndarray::Array2;
use rl755_data::{
    CollectConfig, Dataset, EncodedPart, EncodedRollout, EncoderSource, Maker, PartConfig, Removal,
    RemovalError, Rollout, VerifyConfig, VerifyError, VerifyReport, verify,
};
use rl755_run::{Interrupt, Silent, digest_bytes};
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
    let removed = report.remove_bad_files(&Removal::Delete, false).unwrap();
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
    report.remove_bad_files(&Removal::Delete, false).unwrap();
    assert_eq!(files(directory.path()).len(), before.len() - 1);
    assert_eq!(collect_all(&config).collected, 1);
    assert_eq!(files(directory.path()), before);
}

#[test]
fn encoding_again_writes_a_deleted_shard_again() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let out_dir = directory.path().join("encoded");
    let encoder = EncoderSource {
        name: "test".to_owned(),
        path: "encoder".into(),
        digest: digest_bytes(b"weights"),
        latent_width: 1,
    };
    // Gives how many shards it wrote.
    let encode = || {
        let source = Dataset::open(&directory.path().join("data")).unwrap().split("all").unwrap();
        let config = PartConfig {
            out_dir: out_dir.clone(),
            out_name: "latents".to_owned(),
            num_outer_shards: 1,
            outer_shard_index: 0,
            num_sub_shards: 3,
        };
        let mut part = EncodedPart::begin(config, source, encoder.clone()).unwrap();
        let remaining = part.remaining();
        for shard in &remaining {
            let mut writer = part.writer(shard).unwrap();
            for index in shard.rollouts.clone() {
                writer.push(&encoded(part.source().rollout(index).unwrap(), &encoder)).unwrap();
            }
            part.finish_shard(shard, writer).unwrap();
        }
        part.finish().unwrap().unwrap();
        remaining.len()
    };
    assert_eq!(encode(), 3);
    let before = files(&out_dir);
    damage(&out_dir.join("latents.tfrecord-00002-of-00003"));
    let report = check_alone(&out_dir);
    assert_eq!(report.makers(), BTreeSet::from([Maker::Encoding]));
    report.remove_bad_files(&Removal::Delete, false).unwrap();
    drop(report);
    assert_eq!(files(&out_dir).len(), before.len() - 1);
    assert_eq!(encode(), 1);
    assert_eq!(files(&out_dir), before);
    assert!(check(&out_dir).is_clean());
}

/// A rollout whose latents are its steps.
fn encoded(rollout: Rollout, encoder: &EncoderSource) -> EncodedRollout {
    let latents = Array2::from_shape_fn((rollout.steps(), 1), |(step, _)| step as f32);
    EncodedRollout {
        environment: rollout.environment,
        seed: rollout.seed,
        policy: rollout.policy,
        encoder: encoder.digest.clone(),
        std_devs: latents.clone(),
        latents,
        actions: rollout.actions,
        rewards: rollout.rewards,
        terminated: rollout.terminated,
        truncated: rollout.truncated,
    }
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
        let removed = check_alone(&data).remove_bad_files(&removal, false).unwrap();
        assert_eq!(removed[0].moved_to.as_ref(), Some(&moved_to));
        assert!(!shard.exists());
        assert_eq!(fs::read(&moved_to).unwrap(), damaged);
        pack_all(&pack_config(&directory.path().join("rollouts"), &data));
        fs::write(&shard, "other damage").unwrap();
    }
    let here = Removal::Quarantine(data.join("../data"));
    let refused = check_alone(&data).remove_bad_files(&here, false);
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
    let removed = check_alone(&data).remove_bad_files(&removal, false).unwrap();
    assert!(!shard.exists());
    assert_eq!(fs::read(removed[0].moved_to.as_ref().unwrap()).unwrap(), damaged);
    assert_eq!(files(elsewhere.path()).len(), 2);
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
    let removed = check_alone(&data).remove_bad_files(&removal, false).unwrap();
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
    let refused = report.remove_bad_files(&Removal::Delete, false);
    assert!(matches!(refused, Err(RemovalError::MostlyBad { bad: 2, files: 3 })));
    assert_eq!(files(&data), before);
    assert_eq!(report.remove_bad_files(&Removal::Delete, true).unwrap().len(), 2);
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
    // Only looking is always possible, but removes nothing.
    let looked = check(&data);
    let refused = looked.remove_bad_files(&Removal::Delete, true);
    assert!(matches!(refused, Err(RemovalError::NotLocked)));
    drop(reader);
    let report = check_alone(&data);
    assert!(Dataset::open(&data).is_err());
    drop(report);
    assert!(Dataset::open(&data).is_ok());
}
