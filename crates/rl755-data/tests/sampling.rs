//! Sampling: what batches hold, reproducibility, resuming, rollouts that are too short.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use ndarray::s;
use rayon::prelude::*;
use rl755_data::{
    CollectConfig, Dataset, DatasetError, DatasetManifest, EncodedPart, EncodedRollout,
    EncoderSource, FrameSampler, FrameSamplerConfig, MemoryBudget, Observations, PartConfig,
    PartError, Rollout, Split, StoredRollout, VerifyConfig, VerifyError, WindowSampler,
    WindowSamplerConfig, unit_floats, verify,
};
use rl755_env::ObservationRef;
use rl755_run::{Interrupt, Silent, digest_bytes};
use support::*;

fn frame_sampler(directory: &Path, config: FrameSamplerConfig) -> FrameSampler {
    let dataset = Dataset::open(&directory.join("data")).unwrap();
    FrameSampler::new(dataset.split("train").unwrap(), config).unwrap()
}

/// The bytes of a shuffle buffer for samples of `observations` of `rollouts` rollouts.
fn buffer(directory: &Path, rollouts: u64, observations: u64) -> u64 {
    let train = Dataset::open(&directory.join("data")).unwrap().split("train").unwrap();
    let shards = &train.dataset().manifest().shards;
    // The shards of the train split come first.
    let mut first = 0;
    let shards = shards.iter().take_while(|shard| {
        let taken = first < train.len();
        first += shard.rollouts();
        taken
    });
    let (bytes, steps) = shards.fold((0, 0), |(b, s), shard| (b + shard.bytes, s + shard.steps()));
    rollouts * (observations * (bytes.div_ceil(steps) + 12) + 128) * 10 / 9 + 10
}

/// Every frame of the train split, with its rollout and step.
fn frames(directory: &Path) -> BTreeMap<Vec<u8>, (usize, usize)> {
    let train = Dataset::open(&directory.join("data")).unwrap().split("train").unwrap();
    let mut frames = BTreeMap::new();
    for (index, rollout) in train.rollouts::<Rollout>().enumerate() {
        for (step, frame) in rollout.unwrap().frames().unwrap().outer_iter().enumerate() {
            frames.insert(frame.iter().copied().collect(), (index, step));
        }
    }
    frames
}

/// Rollout and step of each observation of a batch.
fn identify(
    frames: &BTreeMap<Vec<u8>, (usize, usize)>,
    batch: Observations,
) -> Vec<(usize, usize)> {
    let Observations::Frames(batch) = batch else { panic!("frames") };
    batch.outer_iter().map(|f| frames[&f.iter().copied().collect::<Vec<u8>>()]).collect()
}

#[test]
fn each_visit_of_a_rollout_takes_different_steps_and_each_epoch_visits_all() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| c.num_rollouts = 12);
    let frames = frames(directory.path());
    // 9 rollouts, 4 observations each, 3 rollouts shuffled together: an epoch is 12 batches of 3.
    let sampler = frame_sampler(
        directory.path(),
        FrameSamplerConfig {
            batch_size: 3,
            obs_sampled_per_rollout: 4,
            shuffle_buffer_bytes: buffer(directory.path(), 3, 4),
            seed: 1,
            ..FrameSamplerConfig::default()
        },
    );
    let epoch = |epoch: u64| -> Vec<(usize, usize)> {
        (12 * epoch..12 * (epoch + 1))
            .flat_map(|step| identify(&frames, sampler.batch(step).unwrap()))
            .collect()
    };
    let first = epoch(0);
    for rollout in 0..9 {
        let mut steps: Vec<_> = first.iter().filter(|(r, _)| *r == rollout).collect();
        steps.sort_unstable();
        steps.dedup();
        assert_eq!(steps.len(), 4, "rollout {rollout}");
    }
    assert!(first[..12].windows(2).filter(|p| p[0].0 != p[1].0).count() > 3, "shuffled: {first:?}");
    assert_ne!(first, epoch(1));
    assert_eq!(first, epoch(0));
}

#[test]
fn a_batch_depends_on_the_seed_and_the_step_alone() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    // Batches that straddle blocks of one rollout, and rollouts shorter than their sample.
    let config = FrameSamplerConfig {
        batch_size: 25,
        obs_sampled_per_rollout: 10,
        shuffle_buffer_bytes: buffer(directory.path(), 1, 10),
        seed: 3,
        ..FrameSamplerConfig::default()
    };
    let sampler = frame_sampler(directory.path(), config.clone());
    let forwards: Vec<_> = (0..8).map(|step| sampler.batch(step).unwrap()).collect();
    let resumed = frame_sampler(directory.path(), config.clone());
    for step in [7, 2, 5, 0] {
        assert_eq!(resumed.batch(step as u64).unwrap(), forwards[step]);
    }
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let again = frame_sampler(directory.path(), config.clone());
    assert_eq!(one_thread.install(|| again.batch(4).unwrap()), forwards[4]);
    let shared = frame_sampler(directory.path(), config.clone());
    let parallel: Vec<_> =
        (0..8).into_par_iter().map(|step| shared.batch(step as u64).unwrap()).collect();
    assert_eq!(parallel, forwards);
    for reader_threads in [1, 5] {
        let config = FrameSamplerConfig { reader_threads, batches: Some(8), ..config.clone() };
        let sampler = frame_sampler(directory.path(), config);
        let batches: Vec<_> = (0..8).map(|step| sampler.batch(step).unwrap()).collect();
        assert_eq!(batches, forwards, "{reader_threads} threads");
    }
    let other = frame_sampler(directory.path(), FrameSamplerConfig { seed: 4, ..config });
    assert_ne!(other.batch(0).unwrap(), forwards[0]);
}

#[test]
fn rows_of_floats_are_the_frames_of_the_batch() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let sampler = frame_sampler(directory.path(), FrameSamplerConfig::default());
    let mut rows = vec![f32::NAN; 64 * 144];
    for step in 0..9 {
        let form = |observation: ObservationRef<'_>, row: &mut [f32]| {
            let ObservationRef::U8(frame) = observation else { panic!("frames") };
            unit_floats(frame, row);
        };
        sampler.rows(step, &mut rows, form).unwrap();
        let Observations::Frames(batch) = sampler.batch(step).unwrap() else { panic!("frames") };
        assert!(rows.iter().zip(&batch).all(|(&row, &byte)| row == f32::from(byte) / 255.0));
    }
}

#[test]
fn what_a_full_buffer_does_not_hold_is_read_again_and_changes_no_batch() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| c.num_rollouts = 12);
    let config = |shuffle_buffer_bytes| FrameSamplerConfig {
        batch_size: 5,
        obs_sampled_per_rollout: 4,
        shuffle_buffer_bytes,
        ..FrameSamplerConfig::default()
    };
    let honest = config(buffer(directory.path(), 4, 4));
    let sampler = frame_sampler(directory.path(), honest.clone());
    let batches: Vec<_> = (0..30).map(|step| sampler.batch(step).unwrap()).collect();
    // A manifest that says frames are smaller than they are: the plan is that of a smaller buffer,
    // so that blocks are as before where the buffer is smaller in proportion.
    let path = directory.path().join("data/dataset.json");
    let mut manifest: DatasetManifest =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for shard in &mut manifest.shards {
        shard.bytes /= 3;
    }
    std::fs::write(&path, serde_json::to_vec(&manifest).unwrap()).unwrap();
    let small = config(buffer(directory.path(), 4, 4));
    assert!(small.shuffle_buffer_bytes * 2 < honest.shuffle_buffer_bytes);
    let sampler = frame_sampler(directory.path(), small);
    for (step, batch) in batches.iter().enumerate() {
        assert_eq!(sampler.batch(step as u64).unwrap(), *batch, "batch {step}");
    }
}

#[test]
fn a_rollout_shorter_than_its_sample_gives_each_step_as_often_as_the_others() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let frames = frames(directory.path());
    let sampler = frame_sampler(
        directory.path(),
        FrameSamplerConfig {
            batch_size: 20,
            obs_sampled_per_rollout: 20,
            shuffle_buffer_bytes: buffer(directory.path(), 1, 20),
            ..FrameSamplerConfig::default()
        },
    );
    for step in 0..5 {
        let mut times: BTreeMap<_, usize> = BTreeMap::new();
        for place in identify(&frames, sampler.batch(step).unwrap()) {
            *times.entry(place).or_default() += 1;
        }
        let steps =
            frames.values().filter(|(rollout, _)| *rollout == times.keys().next().unwrap().0);
        let steps = steps.count();
        assert_eq!(times.len(), steps, "every step of one rollout");
        assert!(times.values().all(|&n| n == 20 / steps || n == 20usize.div_ceil(steps)));
    }
}

#[test]
fn requests_that_cannot_be_sampled_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let open = || Dataset::open(&directory.path().join("data")).unwrap();
    let check = |edit: &dyn Fn(&mut FrameSamplerConfig), expected: &str| {
        let mut config = FrameSamplerConfig::default();
        edit(&mut config);
        let error = FrameSampler::new(open().split("train").unwrap(), config).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(&|c| c.batch_size = 0, "cannot be 0");
    check(&|c| c.obs_sampled_per_rollout = 0, "cannot be 0");
    check(&|c| c.reader_threads = 0, "cannot be 0");
    check(&|c| c.shuffle_buffer_bytes = 1000, "bytes; the shuffle buffer has 1000");
    let path = directory.path().join("data/dataset.json");
    let manifest: DatasetManifest = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let edited = |edit: &dyn Fn(&mut DatasetManifest)| {
        let mut manifest = manifest.clone();
        edit(&mut manifest);
        std::fs::write(&path, serde_json::to_vec(&manifest).unwrap()).unwrap();
    };
    edited(&|m| m.splits.get_mut("train").unwrap().end = 0);
    check(&|_| {}, "the split `train` has no rollouts");
    edited(&|m| m.shards[0].lengths[1] = 0);
    check(&|_| {}, "rollout 1 of the split `train` has no steps");
    edited(&|m| m.shards[0].lengths[1] += 1);
    let sampler = FrameSampler::new(open().split("train").unwrap(), FrameSamplerConfig::default());
    let error = sampler.unwrap().batch(0).unwrap_err().to_string();
    assert!(error.contains("another number of steps than the dataset's"), "{error}");
}

#[test]
fn vectors_are_sampled_like_frames() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| {
        c.environment = "CartPole-v1".to_owned();
        c.max_steps = 20;
    });
    let sampler = frame_sampler(
        directory.path(),
        FrameSamplerConfig {
            batch_size: 7,
            obs_sampled_per_rollout: 5,
            shuffle_buffer_bytes: 400,
            ..FrameSamplerConfig::default()
        },
    );
    let train = Dataset::open(&directory.path().join("data")).unwrap().split("train").unwrap();
    let mut known = Vec::new();
    for rollout in train.rollouts::<Rollout>() {
        let rollout = rollout.unwrap();
        let rl755_env::ObservationBuffer::F32(values) = rollout.observations else { panic!() };
        known.extend(values.chunks(4).map(<[f32]>::to_vec));
    }
    for step in 0..10 {
        let Observations::Vectors(batch) = sampler.batch(step).unwrap() else { panic!("vectors") };
        assert_eq!(batch.dim(), (7, 4));
        assert!(batch.rows().into_iter().all(|row| known.contains(&row.to_vec())));
    }
}

#[test]
fn damage_in_a_shard_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| c.num_rollouts = 1);
    let shard = directory.path().join("data/stripes.tfrecord-00000-of-00001");
    let mut bytes = std::fs::read(&shard).unwrap();
    bytes[300] ^= 1;
    std::fs::write(&shard, bytes).unwrap();
    let error =
        frame_sampler(directory.path(), FrameSamplerConfig::default()).batch(0).unwrap_err();
    assert!(matches!(error, DatasetError::Record { .. }), "{error}");
    assert!(error.to_string().contains("stripes.tfrecord-00000-of-00001: record 0 at byte 0"));
}

/// Writes a part into `directory/out`; gives the dataset where it was the last.
fn encode_part(
    directory: &Path,
    out: &str,
    shards: (usize, usize),
    index: usize,
) -> Option<Dataset> {
    encode_into(&directory.join("data"), &directory.join(out), shards, index).1
}

#[test]
fn parts_in_any_order_give_the_dataset_of_one_part() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| c.num_rollouts = 11);
    let one = encode_part(directory.path(), "one", (1, 12), 0).expect("the only part");
    for index in [2, 0, 3] {
        assert!(encode_part(directory.path(), "parts", (4, 3), index).is_none());
    }
    let parts = encode_part(directory.path(), "parts", (4, 3), 1).expect("the last part");
    assert_eq!(parts.digest(), one.digest());
    assert_eq!(files(one.directory()), files(parts.directory()));
    assert_eq!(parts.split("validation").unwrap().range(), 8..11);
    let rollout: EncodedRollout = parts.rollout(9).unwrap();
    assert_eq!(rollout.latents[[3, 0]], 9.0);
    assert!(check(parts.directory()).is_clean());
}

#[test]
fn a_part_goes_on_where_it_was_and_mends_damage() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    encode_part(directory.path(), "out", (1, 3), 0).unwrap();
    let out = directory.path().join("out");
    let before = files(&out);
    let shard = out.join("latents.tfrecord-00001-of-00003");
    std::fs::write(&shard, b"damaged").unwrap();
    let source = Dataset::open(&directory.path().join("data")).unwrap().split("all").unwrap();
    let config = part_config(&out, (1, 3), 0);
    let part = EncodedPart::begin(config.clone(), source.clone(), encoder()).unwrap();
    let remaining: Vec<_> = part.remaining().into_iter().map(|s| s.index).collect();
    assert_eq!(remaining, [1]);
    let busy = EncodedPart::begin(config.clone(), source.clone(), encoder()).unwrap_err();
    assert!(busy.to_string().contains("another process is at work on part 0 of 1"), "{busy}");
    // Nor does another plan take its shards away, ...
    let other = PartConfig { num_outer_shards: 3, num_sub_shards: 1, ..config.clone() };
    let other = EncodedPart::begin(other, source.clone(), encoder()).unwrap_err();
    assert!(other.to_string().contains("another process writes another dataset"), "{other}");
    // Nor are its shards removed, or others written while they may be.
    let exclusive = VerifyConfig { exclusive: true, ..verify_config(&out) };
    let busy = verify(&exclusive, &Silent, &Interrupt::new());
    assert!(matches!(busy, Err(VerifyError::Busy { .. })));
    drop(part);
    let report = verify(&exclusive, &Silent, &Interrupt::new()).unwrap();
    let busy = EncodedPart::begin(config.clone(), source.clone(), encoder()).unwrap_err();
    assert!(matches!(busy, PartError::OtherWork { .. }), "{busy}");
    drop(report);
    encode_part(directory.path(), "out", (1, 3), 0).unwrap();
    assert_eq!(files(&out), before);
    // ... and the dataset that is read is not written over.
    let raw = PartConfig { out_dir: directory.path().join("data"), ..config.clone() };
    let raw = EncodedPart::begin(raw, source.clone(), encoder()).unwrap_err();
    assert!(raw.to_string().contains("already holds the raw dataset `stripes`"), "{raw}");
    // Another encoder: nothing of the old one is kept.
    let other = EncoderSource { digest: digest_bytes(b"others"), ..encoder() };
    let part = EncodedPart::begin(config, source, other).unwrap();
    assert_eq!(part.remaining().len(), 3);
}

#[test]
fn another_plan_replaces_the_encoded_dataset() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let dataset = encode_part(directory.path(), "out", (1, 3), 0).unwrap();
    let out = directory.path().join("out");
    let source = Dataset::open(&directory.path().join("data")).unwrap().split("all").unwrap();
    let other = EncodedPart::begin(part_config(&out, (1, 2), 0), source, encoder()).unwrap_err();
    assert!(matches!(other, PartError::OtherWork { .. }), "it is read: {other}");
    drop(dataset);
    // What is no part's log stays.
    let notes = out.join("parts/notes");
    std::fs::copy(out.join("parts/outer-00000-of-00001.jsonl"), &notes).unwrap();
    encode_part(directory.path(), "out", (1, 2), 0).unwrap();
    assert!(notes.exists());
    // Two shards and the manifest.
    assert_eq!(files(&out).len(), 3);
    assert_eq!(Dataset::open(&out).unwrap().len(), 6);
}

fn window_config(length: usize) -> WindowSamplerConfig {
    WindowSamplerConfig { batch_size: 5, length, reader_threads: 2, seed: 2 }
}

/// A sampler of the windows of `split` that may keep every rollout.
fn window_sampler(split: &Split, length: usize) -> Result<WindowSampler, DatasetError> {
    WindowSampler::new(split.clone(), window_config(length), MemoryBudget::new(1 << 30))
}

#[test]
fn windows_are_consecutive_steps_and_include_the_last_ones() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| c.num_rollouts = 10);
    let dataset = encode_part(directory.path(), "out", (1, 2), 0).unwrap();
    let all = dataset.split("all").unwrap();
    let rollouts: Vec<EncodedRollout> = all.rollouts().collect::<Result<_, _>>().unwrap();
    let sampler = window_sampler(&all, 4).unwrap();
    assert_eq!(sampler.too_short(), 0);
    let mut starts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for step in 0..200 {
        let windows = sampler.batch(step).unwrap();
        for row in 0..5 {
            let latents = windows.latents.slice(s![row, .., ..]);
            let (index, start) = (latents[[0, 0]] as usize, latents[[0, 1]] as usize);
            let rollout = &rollouts[index];
            let end = (start + 4).min(rollout.steps());
            let count = end - start;
            assert_eq!(latents.slice(s![..count, ..]), rollout.latents.slice(s![start..end, ..]));
            let std_devs = windows.std_devs.slice(s![row, .., ..]);
            assert_eq!(std_devs.slice(s![..count, ..]), rollout.std_devs.slice(s![start..end, ..]));
            let actions = windows.actions.slice(s![row, .., ..]);
            assert_eq!(actions.slice(s![..count, ..]), rollout.actions.slice(s![start..end, ..]));
            let rewards = windows.rewards.row(row).to_vec();
            assert_eq!(rewards[..count], rollout.rewards[start..end]);
            let mut terminals = [0.0; 4];
            terminals[count - 1] = f32::from(rollout.terminated && end == rollout.steps());
            assert_eq!(windows.terminals.row(row).to_vec(), terminals);
            assert_eq!(windows.beyond_end[row], count < 4);
            if count < 4 {
                assert!(rollout.terminated && count == 3);
                assert_eq!(latents.row(3), rollout.latents.row(end - 1));
                let rest = [std_devs.row(3), actions.row(3)];
                assert!(rest.iter().all(|row| row.iter().all(|x| *x == 0.0)) && rewards[3] == 0.0);
            }
            starts.entry(index).or_default().push(start);
        }
    }
    for (index, rollout) in rollouts.iter().enumerate() {
        let drawn = &starts[&index];
        assert_eq!(drawn.len(), 100, "each epoch visits each rollout once");
        // Every window is drawn, the last one as often as the others.
        let windows = rollout.steps() - 3 + usize::from(rollout.terminated);
        for start in 0..windows {
            let times = drawn.iter().filter(|&&drawn| drawn == start).count();
            let expected = 100 / windows;
            assert!(times > expected / 3 && times < expected * 2 + 10, "{start}: {times} times");
        }
        assert!(drawn.iter().all(|&start| start < windows));
    }
    let resumed = window_sampler(&all, 4).unwrap();
    assert_eq!(resumed.batch(77).unwrap(), sampler.batch(77).unwrap());
}

#[test]
fn rollouts_without_a_window_are_left_out_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| (c.num_rollouts, c.max_steps) = (10, 6));
    let dataset = encode_part(directory.path(), "out", (1, 1), 0).unwrap();
    let all = dataset.split("all").unwrap();
    let ends: Vec<(usize, bool)> = all
        .rollouts::<EncodedRollout>()
        .map(|rollout| rollout.map(|r| (r.steps(), r.terminated)).unwrap())
        .collect();
    // With its end, a task of 6 steps is as long as a window of 7.
    assert!(ends.contains(&(6, true)) && ends.contains(&(6, false)), "{ends:?}");
    let expected: BTreeSet<usize> = (0..10).filter(|&index| ends[index] == (6, true)).collect();
    let sampler = window_sampler(&all, 7).unwrap();
    assert_eq!((sampler.too_short(), sampler.rollouts()), (10 - expected.len(), expected.len()));
    let mut drawn = BTreeSet::new();
    for step in 0..20 {
        let windows = sampler.batch(step).unwrap();
        assert!(windows.beyond_end.iter().all(|beyond| *beyond));
        assert!(windows.terminals.column(5).iter().all(|end| *end == 1.0));
        drawn.extend(windows.latents.slice(s![.., 0, 0]).iter().map(|&index| index as usize));
    }
    assert_eq!(drawn, expected);
    let error = window_sampler(&all, 8).unwrap_err().to_string();
    assert!(
        error.contains("none of the 10 rollouts of the split `all` has the 8 steps"),
        "{error}"
    );
    assert!(error.contains("the longest has 6"), "{error}");
}

#[test]
fn windows_depend_neither_on_memory_nor_on_threads() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| c.num_rollouts = 10);
    let dataset = encode_part(directory.path(), "out", (1, 2), 0).unwrap();
    let all = dataset.split("all").unwrap();
    let batches = |memory: u64, reader_threads: usize, kept: std::ops::RangeInclusive<usize>| {
        let config = WindowSamplerConfig { reader_threads, ..window_config(4) };
        let sampler = WindowSampler::new(all.clone(), config, MemoryBudget::new(memory)).unwrap();
        let batches: Vec<_> = (0..30).map(|step| sampler.batch(step).unwrap()).collect();
        assert!(kept.contains(&sampler.kept()), "{} rollouts kept", sampler.kept());
        batches
    };
    let whole = batches(1 << 30, 1, 10..=10);
    assert_eq!(batches(1 << 30, 3, 10..=10), whole);
    assert_eq!(batches(0, 1, 0..=0), whole);
    assert_eq!(batches(1500, 4, 1..=5), whole);
}

#[test]
fn damage_in_an_encoded_shard_is_told_when_the_rollout_is_visited() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| c.num_rollouts = 3);
    let dataset = encode_part(directory.path(), "out", (1, 1), 0).unwrap();
    let shard = dataset.directory().join("latents.tfrecord-00000-of-00001");
    let mut bytes = std::fs::read(&shard).unwrap();
    let last = bytes.len() - 20;
    bytes[last] ^= 1;
    std::fs::write(&shard, bytes).unwrap();
    let sampler = window_sampler(&dataset.split("all").unwrap(), 4).unwrap();
    let error = sampler.batch(0).unwrap_err().to_string();
    assert!(error.contains("latents.tfrecord-00000-of-00001: record 2 at byte"), "{error}");
}

#[test]
fn the_kind_of_dataset_is_checked() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let encoded = encode_part(directory.path(), "out", (1, 1), 0).unwrap();
    let raw = Dataset::open(&directory.path().join("data")).unwrap();
    let error = window_sampler(&raw.split("train").unwrap(), 2).unwrap_err();
    assert!(error.to_string().contains("holds raw rollouts; encoded ones are needed"), "{error}");
    let split = encoded.split("train").unwrap();
    let error = FrameSampler::new(split, FrameSamplerConfig::default()).unwrap_err();
    assert!(error.to_string().contains("holds encoded rollouts; raw ones are needed"), "{error}");
    let error = raw.rollout::<EncodedRollout>(0).unwrap_err();
    assert!(error.to_string().contains("observations are stored as `png`"), "{error}");
    let error = raw.split("test").unwrap_err().to_string();
    assert!(
        error.contains("no split called `test`; it has `train`, `validation`, `all`"),
        "{error}"
    );
    let error = Dataset::open(directory.path()).unwrap_err();
    assert!(matches!(error, DatasetError::NotADataset { .. }), "{error}");
}

#[test]
fn records_round_trip_and_are_the_same_bytes_each_time() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_: &mut CollectConfig| {});
    let raw: Rollout = Dataset::open(&directory.path().join("data")).unwrap().rollout(1).unwrap();
    let record = raw.to_record().unwrap();
    assert_eq!(record, raw.to_record().unwrap());
    assert_eq!(Rollout::from_record(&record).unwrap(), raw);
    let encoded = encode(raw.clone(), 1);
    let record = encoded.to_record().unwrap();
    assert_eq!(EncodedRollout::from_record(&record).unwrap(), encoded);
    let mut broken = encoded;
    broken.std_devs[[2, 1]] = f32::NAN;
    let error = broken.to_record().unwrap_err().to_string();
    assert_eq!(
        error,
        "`observation_std_devs` of step 2 is NaN, where a finite number of at least 0 is needed"
    );
}
