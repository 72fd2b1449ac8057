//! Files that others wrote are read, and others read ours.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{fs, path::Path};

use ndarray::array;
use rl755_data::{EncodedRollout, Rollout, StoredRollout, record::RecordReader, verify};
use rl755_env::Space;
use rl755_run::{Interrupt, Silent};
use support::*;

/// The record of a golden file, which golden/rollouts_by_tensorflow.py wrote with TensorFlow
/// 2.21.0. The values are exact.
fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    assert!(verify(path.to_str().unwrap(), 1, &Silent, &Interrupt::new()).unwrap().is_clean());
    let bytes = fs::read(path).unwrap();
    RecordReader::new(&bytes[..]).next_record().unwrap().unwrap().to_vec()
}

#[test]
fn a_raw_rollout_that_tensorflow_wrote_is_read() {
    let rollout = Rollout::from_record(&golden("our_png.tfrecord")).unwrap();
    let environment = &rollout.environment;
    assert_eq!(environment.id, "Golden-v0");
    let action_space =
        Space::Box { low: vec![0.0, f32::NEG_INFINITY], high: vec![1.0, f32::INFINITY] };
    assert_eq!(environment.action_space, action_space);
    assert_eq!((rollout.seed, rollout.policy.as_str()), (u64::MAX, "uniform"));
    assert_eq!((rollout.terminated, rollout.truncated), (true, false));
    assert_eq!(rollout.actions, array![[0.0, 0.0], [0.25, -1.0], [0.5, -2.0]]);
    assert_eq!(rollout.rewards, [0.0, 0.5, 1.0]);
    let frames = rollout.frames().unwrap();
    assert_eq!(frames.dim(), (3, 2, 3, 3));
    let expected: Vec<u8> = (0..3).flat_map(|t| (0..18).map(move |i| 10 * t + i)).collect();
    assert_eq!(frames.iter().copied().collect::<Vec<u8>>(), expected);
}

#[test]
fn an_encoded_rollout_that_tensorflow_wrote_is_read() {
    let record = golden("our_latent.tfrecord");
    let rollout = EncodedRollout::from_record(&record).unwrap();
    assert_eq!(rollout.latents, array![[0.0, 0.0, 0.5], [1.0, -1.0, 0.5], [2.0, -2.0, 0.5]]);
    assert_eq!(rollout.std_devs, array![[1.0, 2.0, 0.0], [1.0, 2.0, 1.0], [1.0, 2.0, 2.0]]);
    assert_eq!(rollout.rewards, [0.0, 0.5, 1.0]);
    assert_eq!(rollout.encoder.to_string(), "0123456789abcdef".repeat(4));
}

#[test]
fn the_tfrecord_crate_reads_our_shards() {
    let directory = tempfile::tempdir().unwrap();
    let dataset = dataset(directory.path(), |_| {}).dataset;
    let mut index = 0;
    for shard in &dataset.manifest().shards {
        let path = dataset.directory().join(&shard.file);
        // It checks both checksums by default.
        for record in tfrecord::BytesIter::open(path, Default::default()).unwrap() {
            assert_eq!(record.unwrap(), dataset.record(index).unwrap());
            index += 1;
        }
    }
    assert_eq!(index, dataset.len());
}
