//! Statistics of a dataset, as verifying makes them.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{fs, path::Path};

use ndarray::{Array2, Axis};
use rl755_data::{
    CollectConfig, ContactSheetError, Dataset, EncodedRollout, Rollout, ShardWriter, Statistics,
    Summary, VerifyConfig, verify,
};
use rl755_run::{Interrupt, Silent, digest_bytes};
use support::*;

fn statistics(pattern: &Path, parallelism: usize) -> Vec<Statistics> {
    let config = VerifyConfig { statistics: true, parallelism, ..verify_config(pattern) };
    let report = verify(&config, &Silent, &Interrupt::new()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    report.statistics
}

fn rollouts(directory: &Path) -> Vec<Rollout> {
    let dataset = Dataset::open(directory).unwrap();
    dataset.split("all").unwrap().rollouts().map(Result::unwrap).collect()
}

#[test]
fn statistics_are_those_of_the_rollouts() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| c.num_rollouts = 11);
    let data = directory.path().join("data");
    let rollouts = rollouts(&data);
    let [found] = &statistics(&data, 2)[..] else { panic!("one environment") };

    assert_eq!(found.environment, rollouts[0].environment);
    assert_eq!((found.observation_format.as_str(), found.rollouts), ("png", 11));
    assert_eq!(found.steps, rollouts.iter().map(|r| r.steps() as u64).sum::<u64>());
    let shards = Dataset::open(&data).unwrap().manifest().shards.clone();
    assert_eq!(found.bytes, shards.iter().map(|s| s.bytes).sum::<u64>());
    let sum = |r: &Rollout| r.rewards.iter().map(|&r| f64::from(r)).sum();
    assert_eq!(found.returns, Summary::of(&rollouts.iter().map(sum).collect::<Vec<f64>>()));
    let lengths: Vec<f64> = rollouts.iter().map(|r| r.steps() as f64).collect();
    assert_eq!(found.lengths, Summary::of(&lengths));
    let count = |which: fn(&Rollout) -> bool| rollouts.iter().filter(|r| which(r)).count() as u64;
    assert_eq!(found.terminated, count(|r| r.terminated));
    assert_eq!(found.truncated, count(|r| r.truncated));
    assert_eq!(found.policies, [("smooth".to_owned(), 11)].into());

    assert_eq!(found.actions.len(), 2);
    for (element, histogram) in found.actions.iter().enumerate() {
        let values: Vec<f32> =
            rollouts.iter().flat_map(|r| r.actions.column(element).to_vec()).collect();
        assert_eq!(histogram.counts.iter().sum::<u64>(), found.steps);
        assert_eq!((histogram.below, histogram.above), (0, 0));
        let summary = Summary::of(&values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
        assert!((histogram.mean - summary.mean).abs() < 1e-9);
        assert!((histogram.std_dev - summary.std_dev).abs() < 1e-6);
    }
    assert_eq!((found.actions[0].low, found.actions[1].low), (-1.0, 0.0));

    let text = found.to_string();
    for part in ["Stripes-v0 (png)", "of 6x8x3", "smooth in 11", "Box([-1, 0], [1, 1])"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(serde_json::to_string(found).unwrap().contains("\"rollouts\":11"));
}

#[test]
fn statistics_do_not_depend_on_threads() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| c.num_rollouts = 15);
    let data = directory.path().join("data");
    let one = statistics(&data, 1);
    for threads in [2, 3, 5] {
        let more = statistics(&data, threads);
        assert_eq!(more, one, "{threads} threads");
        assert_eq!(more[0].contact_sheet().unwrap(), one[0].contact_sheet().unwrap());
    }
}

#[test]
fn each_environment_has_its_own() {
    let directory = tempfile::tempdir().unwrap();
    for (environment, policy) in [("Stripes-v0", "smooth"), ("CartPole-v1", "uniform")] {
        let out_dir = directory.path().join(environment);
        collect_all(&CollectConfig {
            environment: environment.to_owned(),
            policy: policy.to_owned(),
            ..config(&out_dir)
        });
    }
    let found = statistics(&directory.path().join("*/*.tfrecord"), 2);
    let ids: Vec<&str> = found.iter().map(|s| s.environment.id.as_str()).collect();
    assert_eq!(ids, ["CartPole-v1", "Stripes-v0"]);
    let cart_pole = &found[0];
    assert_eq!(cart_pole.actions[0].counts.iter().sum::<u64>(), cart_pole.steps);
    assert_eq!(cart_pole.actions[0].counts.len(), 2);
    assert!(cart_pole.to_string().contains("of 4 floats"), "{cart_pole}");
    assert_eq!(cart_pole.contact_sheet().unwrap(), None);
}

#[test]
fn a_contact_sheet_has_the_frames_of_rollouts_in_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| c.num_rollouts = 15);
    let data = directory.path().join("data");
    let rollouts = rollouts(&data);
    let sheet = statistics(&data, 2)[0].contact_sheet().unwrap().unwrap();
    // Gaps of 2 pixels around 8 frames of 6x8 both ways.
    assert_eq!((sheet.shape.height, sheet.shape.width), (8 * 8 + 2, 8 * 10 + 2));
    for row in 0..8 {
        let rollout = &rollouts[row * 14 / 7];
        let last = rollout.steps() - 1;
        let columns = rollout.steps().min(8);
        for column in 0..columns {
            let frame = rollout.frames().unwrap();
            let frame = frame.index_axis(Axis(0), column * last / (columns - 1));
            for ((y, x, channel), &value) in frame.indexed_iter() {
                let (top, left) = (2 + row * 8 + y, 2 + column * 10 + x);
                let drawn = sheet.pixels[(top * sheet.shape.width + left) * 3 + channel];
                assert_eq!(drawn, value, "row {row}, column {column}");
            }
        }
    }
    // Rollouts that are no longer there are told, not taken for ones without frames.
    let statistics = statistics(&data, 2);
    let shard = data.join("stripes.tfrecord-00000-of-00008");
    fs::write(&shard, vec![0; fs::metadata(&shard).unwrap().len() as usize]).unwrap();
    assert!(matches!(statistics[0].contact_sheet(), Err(ContactSheetError::Record { .. })));
    // The reference decoder of the png crate.
    let bytes = sheet.to_png().unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    assert_eq!(pixels, sheet.pixels);
}

/// A rollout that TensorFlow wrote as the original did: 3 frames of 2x3 pixels whose bytes are
/// 10 t + i.
#[test]
fn frames_of_the_original_are_drawn() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let found = statistics(&golden.join("original_raw_4_actions.tfrecord"), 1);
    let sheet = found[0].contact_sheet().unwrap().unwrap();
    assert_eq!((sheet.shape.height, sheet.shape.width), (2 + 4, 8 * 5 + 2));
    for (t, y, x) in ndarray::indices((3, 2, 3)) {
        let start = ((2 + y) * sheet.shape.width + 2 + 5 * t + x) * 3;
        let expected = [0, 1, 2].map(|channel| (10 * t + 9 * y + 3 * x + channel) as u8);
        assert_eq!(sheet.pixels[start..start + 3], expected, "frame {t}, row {y}, column {x}");
    }
}

#[test]
fn latents_that_say_nothing_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.tfrecord");
    let mut writer = ShardWriter::create(directory.path(), "a.tfrecord").unwrap();
    let steps = 6;
    // Means -1 and 1 by turns with deviations of 0.5; and the prior itself.
    let rollout =
        EncodedRollout {
            environment: rl755_env::Env::spec(&Stripes::new()).clone(),
            seed: 1,
            policy: "smooth".to_owned(),
            encoder: digest_bytes(b"encoder"),
            latents: Array2::from_shape_fn((steps, 2), |(t, z)| {
                if z == 0 { [-1.0, 1.0][t % 2] } else { 0.0 }
            }),
            std_devs: Array2::from_shape_fn((steps, 2), |(_, z)| [0.5, 1.0][z]),
            extras: Default::default(),
            actions: Array2::zeros((steps, 2)),
            rewards: vec![1.0; steps],
            terminated: true,
            truncated: false,
        };
    writer.push(&rollout).unwrap();
    let deterministic = EncodedRollout { std_devs: Array2::zeros((steps, 2)), ..rollout.clone() };
    writer.finish().unwrap();
    let [found] = &statistics(&path, 1)[..] else { panic!("one environment") };
    assert_eq!(found.observation_format, "latent");
    let [active, inactive] = found.latents[..] else { panic!("two latents") };
    assert_eq!((active.mean, active.std_dev, active.posterior_std_dev), (0.0, 1.0, 0.5));
    // (1 + 0.25 - 1 - ln 0.25) / 2
    assert!((active.divergence.unwrap() - 0.818_147_180_559_945_3).abs() < 1e-12);
    assert_eq!(inactive.divergence, Some(0.0));
    assert!(!active.is_inactive() && inactive.is_inactive());
    let text = found.to_string();
    assert!(text.contains("inactive (KL below 0.01 nats): 1\n"), "{text}");
    assert_eq!(found.contact_sheet().unwrap(), None);

    let mut writer = ShardWriter::create(directory.path(), "a.tfrecord").unwrap();
    writer.push(&deterministic).unwrap();
    writer.finish().unwrap();
    let latents = &statistics(&path, 1)[0].latents;
    assert!(latents.iter().all(|latent| latent.divergence.is_none() && !latent.is_inactive()));
}

#[test]
fn statistics_are_made_of_what_is_sound() {
    let directory = tempfile::tempdir().unwrap();
    collect_all(&config(directory.path()));
    let path = directory.path().join("rollout-0000-000001.tfrecord");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(path, bytes).unwrap();
    let wanted = VerifyConfig { statistics: true, ..verify_config(directory.path()) };
    let report = verify(&wanted, &Silent, &Interrupt::new()).unwrap();
    assert_eq!((report.records, report.statistics[0].rollouts), (6, 5));
    assert!(check(directory.path()).statistics.is_empty(), "they were not asked for");
}
