//! Files that others wrote are read, and others read ours.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
};

use ndarray::{Array2, array, s};
use rl755_data::{
    EncodedRollout, FrameFormat, OriginalRollout, Rollout, SchemaError, StoredRollout,
    record::RecordReader,
};
use rl755_env::{EnvSpec, ObservationBuffer, Space};
use rl755_run::{Digest, digest_bytes, write_record};
use support::*;

/// The record of a golden file, which golden/rollouts_by_tensorflow.py wrote with TensorFlow
/// 2.21.0. The values are exact.
fn golden(name: &str) -> Vec<u8> {
    let path = golden_path(name);
    let bytes = fs::read(&path).unwrap();
    let mut reader = RecordReader::new(&bytes[..]);
    let record = reader.next_record().unwrap().unwrap().to_vec();
    assert!(reader.next_record().unwrap().is_none());
    record
}

fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.tfrecord"))
}

/// Frames of 2x3 pixels with the bytes 10 t + i.
fn golden_frames(steps: u8) -> ObservationBuffer {
    ObservationBuffer::U8((0..steps).flat_map(|t| (0..18).map(move |i| 10 * t + i)).collect())
}

/// `[t, -t, 0.5]`
fn golden_means(steps: u8) -> Array2<f32> {
    Array2::from_shape_fn((usize::from(steps), 3), |(t, i)| [t as f32, -(t as f32), 0.5][i])
}

/// `[1, 2, t]`
fn golden_std_devs(steps: u8) -> Array2<f32> {
    Array2::from_shape_fn((usize::from(steps), 3), |(t, i)| [1.0, 2.0, t as f32][i])
}

fn golden_spec(actions: Space) -> EnvSpec {
    EnvSpec {
        id: "Golden-v0".to_owned(),
        observation_space: Space::Image { height: 2, width: 3, channels: 3 },
        action_space: actions,
        max_episode_steps: None,
        rules: String::new(),
    }
}

fn three_floats() -> EnvSpec {
    golden_spec(Space::Box { low: vec![-1.0; 3], high: vec![1.0; 3] })
}

fn three_indices() -> EnvSpec {
    golden_spec(Space::Discrete { n: 3 })
}

#[test]
fn raw_rollouts_that_tensorflow_wrote_are_read() {
    for (name, observations) in [
        ("our_png", golden_frames(3)),
        ("our_tensor", golden_frames(3)),
        ("our_float", ObservationBuffer::F32(golden_means(3).into_raw_vec_and_offset().0)),
    ] {
        let path = golden_path(name);
        let report = check(&path);
        assert!(report.is_clean(), "{name}: {:?}", report.problems);
        let rollout = Rollout::from_record(&golden(name)).unwrap();
        let environment = &rollout.environment;
        assert_eq!(environment.id, "Golden-v0");
        let action_space =
            Space::Box { low: vec![0.0, f32::NEG_INFINITY], high: vec![1.0, f32::INFINITY] };
        assert_eq!(environment.action_space, action_space);
        assert_eq!((rollout.seed, rollout.policy.as_str()), (u64::MAX, "uniform"));
        assert_eq!((rollout.terminated, rollout.truncated), (true, false));
        assert_eq!(rollout.actions, array![[0.0, 0.0], [0.25, -1.0], [0.5, -2.0]]);
        assert_eq!(rollout.rewards, [0.0, 0.5, 1.0]);
        assert_eq!(rollout.observations, observations, "{name}");
    }
}

#[test]
fn an_encoded_rollout_that_tensorflow_wrote_is_read() {
    let rollout = EncodedRollout::from_record(&golden("our_latent")).unwrap();
    assert_eq!(rollout.latents, golden_means(3));
    assert_eq!(rollout.std_devs, golden_std_devs(3));
    assert_eq!(rollout.rewards, [0.0, 0.5, 1.0]);
    assert_eq!(rollout.encoder.to_string(), "0123456789abcdef".repeat(4));
}

#[test]
fn raw_rollouts_of_the_original_are_read() {
    for name in ["original_raw_3_actions", "original_raw_4_actions"] {
        let record = golden(name);
        let original = OriginalRollout::parse(&record).unwrap();
        assert_eq!((original.steps(), original.is_encoded(&three_floats())), (3, false), "{name}");
        let expected = Rollout {
            environment: three_floats(),
            seed: 0,
            policy: "unknown".to_owned(),
            observations: golden_frames(3),
            actions: array![[0.0, 0.0, 0.5], [0.25, 1.0, 0.5], [0.5, 2.0, 0.5]],
            rewards: vec![0.0, 0.5, 1.0],
            terminated: false,
            truncated: true,
        };
        assert_eq!(original.rollout(&three_floats()).unwrap(), expected, "{name}");
    }
    // 4 steps and 5 observations, of which the first episode has 3.
    let record = golden("original_integer_actions");
    let expected = Rollout {
        environment: three_indices(),
        seed: 0,
        policy: "unknown".to_owned(),
        observations: golden_frames(3),
        actions: array![[0.0], [1.0], [2.0]],
        rewards: vec![0.0, 0.5, 1.0],
        terminated: true,
        truncated: false,
    };
    let original = OriginalRollout::parse(&record).unwrap();
    assert_eq!(original.rollout(&three_indices()).unwrap(), expected);
}

#[test]
fn encoded_rollouts_of_the_original_are_read() {
    let encoder: Digest = digest_bytes(b"an encoder");
    let all = EncodedRollout {
        environment: three_floats(),
        seed: 0,
        policy: "unknown".to_owned(),
        encoder: encoder.clone(),
        latents: golden_means(4),
        std_devs: golden_std_devs(4),
        extras: Default::default(),
        actions: array![[0.0, 0.0, 0.5], [0.25, 1.0, 0.5], [0.5, 2.0, 0.5]],
        rewards: vec![0.0, 0.5, 1.0],
        terminated: false,
        truncated: true,
    };
    let three =
        EncodedRollout { latents: golden_means(3), std_devs: golden_std_devs(3), ..all.clone() };
    // No episode ended within the 4 steps.
    let four = EncodedRollout {
        environment: three_indices(),
        actions: array![[0.0], [1.0], [2.0], [0.0]],
        rewards: vec![0.0, 0.5, 1.0, 1.5],
        ..all
    };
    let deterministic = EncodedRollout {
        latents: golden_means(3),
        std_devs: Array2::zeros((3, 3)),
        actions: four.actions.slice(s![..3, ..]).to_owned(),
        rewards: vec![0.0, 0.5, 1.0],
        terminated: true,
        truncated: false,
        ..four.clone()
    };
    for (name, expected) in [
        ("original_encoded", three.clone()),
        ("original_encoded_obs_std_devs", three),
        ("original_integer_actions_encoded", four),
        ("original_integer_actions_deterministic", deterministic),
    ] {
        let record = golden(name);
        let original = OriginalRollout::parse(&record).unwrap();
        assert!(original.is_encoded(&expected.environment), "{name}");
        let rollout = original.encoded(&expected.environment, &encoder).unwrap();
        assert_eq!(rollout, expected, "{name}");
    }
}

#[test]
fn rollouts_of_the_original_that_do_not_fit_are_refused() {
    let check = |name: &str, environment: &EnvSpec, expected: &str| {
        let record = golden(name);
        let original = OriginalRollout::parse(&record).unwrap();
        let error = original.check_fits(environment).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
        assert_eq!(original.rollout(environment).unwrap_err().to_string(), error);
    };
    check("original_raw_3_actions", &three_indices(), "`actions`: 3 floats, where 1 integer");
    check("original_integer_actions", &three_floats(), "`actions`: 1 integer, where 3 floats");
    let two = golden_spec(Space::Discrete { n: 2 });
    check("original_integer_actions", &two, "`actions` of step 2");
    let mut larger = three_floats();
    larger.observation_space = Space::Image { height: 96, width: 96, channels: 3 };
    check(
        "original_raw_3_actions",
        &larger,
        "frames of 2x3x3, where [96, 96, 3] of u8 as in Golden",
    );
    let record = golden("original_raw_4_actions");
    let original = OriginalRollout::parse(&record).unwrap();
    assert!(
        original.encoded(&three_floats(), &digest_bytes(b"")).is_err(),
        "frames are no latents"
    );
    // Ours is not theirs.
    let error = OriginalRollout::parse(&golden("our_latent")).unwrap_err();
    assert!(matches!(error, SchemaError::NotOriginal), "{error}");
}

#[test]
fn files_of_the_original_are_verified() {
    for name in [
        "original_raw_3_actions",
        "original_raw_4_actions",
        "original_encoded",
        "original_encoded_obs_std_devs",
        "original_integer_actions",
        "original_integer_actions_encoded",
        "original_integer_actions_deterministic",
    ] {
        let report = support::check(golden_path(name));
        assert!(report.is_clean(), "{name}: {:?}", report.problems);
    }
    // A NaN among the rewards is found, and named as the original's.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.tfrecord");
    let mut record = golden("original_raw_4_actions");
    let one = record.windows(4).rposition(|bytes| bytes == 1f32.to_le_bytes()).unwrap();
    record[one..one + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let mut bytes = Vec::new();
    write_record(&mut bytes, &record).unwrap();
    fs::write(&path, bytes).unwrap();
    let problem = support::check(path).problems[0].to_string();
    assert!(problem.contains("`rewards` of step 2 is NaN"), "{problem}");
}

#[test]
fn every_cut_or_flipped_byte_of_the_original_s_is_refused_or_harmless() {
    for name in ["original_raw_4_actions", "original_encoded", "original_integer_actions"] {
        let record = golden(name);
        for length in 0..record.len() {
            assert!(OriginalRollout::parse(&record[..length]).is_err(), "{name}: {length} bytes");
        }
        for index in 0..record.len() {
            let mut changed = record.clone();
            changed[index] ^= 0x81;
            // Nothing but a panic would be wrong: the framing's checksum finds the change.
            if let Ok(original) = OriginalRollout::parse(&changed) {
                let _ = original.rollout(&three_floats());
            }
        }
    }
}

#[test]
fn the_tfrecord_crate_reads_every_layout() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layouts.tfrecord");
    let frames = Rollout::from_record(&golden("our_png")).unwrap();
    let records = [
        frames.to_record_as(FrameFormat::Png).unwrap(),
        frames.to_record_as(FrameFormat::Tensor).unwrap(),
        Rollout::from_record(&golden("our_float")).unwrap().to_record().unwrap(),
        EncodedRollout::from_record(&golden("our_latent")).unwrap().to_record().unwrap(),
    ];
    let mut bytes = Vec::new();
    records.iter().for_each(|record| write_record(&mut bytes, record).unwrap());
    fs::write(&path, bytes).unwrap();
    // It checks both checksums by default.
    let read = tfrecord::BytesIter::open(path, Default::default()).unwrap();
    assert_eq!(read.map(Result::unwrap).collect::<Vec<_>>(), records);
}

#[test]
fn the_tfrecord_crate_reads_our_shards() {
    let directory = tempfile::tempdir().unwrap();
    let dataset = dataset(directory.path(), |_| {}).dataset;
    let mut index = 0;
    for shard in &dataset.manifest().shards {
        let path = dataset.directory().join(&shard.file);
        for record in tfrecord::BytesIter::open(path, Default::default()).unwrap() {
            assert_eq!(record.unwrap(), dataset.record(index).unwrap());
            index += 1;
        }
    }
    assert_eq!(index, dataset.len());
}
