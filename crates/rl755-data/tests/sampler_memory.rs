//! Samplers hold no more than they promise, however large the dataset is: counted by the allocator,
//! which is why this test has a program of its own.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/memory.rs"]
mod memory;

use std::path::Path;

use memory::most;
use ndarray::Array2;
use rl755_data::{
    Dataset, DatasetManifest, EncodedRollout, EncoderSource, FrameSampler, FrameSamplerConfig,
    MANIFEST_FORMAT, MemoryBudget, Rollout, ShardWriter, StoredRollout, WindowSampler,
    WindowSamplerConfig, shard_name, train_and_validation, unit_floats,
};
use rl755_env::{EnvSpec, ObservationBuffer, ObservationRef, Space};
use rl755_run::{Random, digest_bytes};

const ROLLOUTS: usize = 40;
const STEPS: usize = 120;
const SHAPE: (usize, usize) = (32, 32);

/// What the runtime of threads and errors may take beside.
const SLACK: usize = 100_000;

fn environment() -> EnvSpec {
    EnvSpec {
        id: "Noise-v0".into(),
        observation_space: Space::Image { height: SHAPE.0, width: SHAPE.1, channels: 3 },
        action_space: Space::Box { low: vec![-1.0; 2], high: vec![1.0; 2] },
        max_episode_steps: None,
        rules: "none".into(),
    }
}

/// Writes a dataset of noise, which cannot be compressed; gives its longest record's length.
fn write<R: StoredRollout>(
    directory: &Path,
    encoder: Option<EncoderSource>,
    rollouts: usize,
    rollout: impl Fn(&mut Random) -> R,
) -> usize {
    let file = shard_name("noise", 0, 1);
    let mut writer = ShardWriter::create(directory, &file).unwrap();
    let mut longest = 0;
    for index in 0..rollouts {
        let rollout = rollout(&mut Random::derived(1, "noise", index as u64));
        longest = longest.max(rollout.to_record().unwrap().len());
        writer.push(&rollout).unwrap();
    }
    let manifest = DatasetManifest {
        format: MANIFEST_FORMAT,
        made_by: "a test".into(),
        config: serde_json::json!({ "stage": "pack" }),
        name: "noise".into(),
        action_width: 2,
        environment: environment(),
        encoder,
        inputs: vec![],
        skipped: vec![],
        splits: train_and_validation(rollouts, 0.0),
        shards: vec![writer.finish().unwrap()],
    };
    let text = serde_json::to_vec(&manifest).unwrap();
    std::fs::write(DatasetManifest::path_in(directory), text).unwrap();
    longest
}

fn raw(random: &mut Random) -> Rollout {
    let bytes = STEPS * SHAPE.0 * SHAPE.1 * 3;
    Rollout {
        environment: environment(),
        seed: 1,
        policy: "noise".into(),
        observations: ObservationBuffer::U8((0..bytes).map(|_| random.bits() as u8).collect()),
        actions: Array2::zeros((STEPS, 2)),
        rewards: vec![0.0; STEPS],
        terminated: false,
        truncated: false,
    }
}

fn encoded(random: &mut Random, encoder: &EncoderSource, steps: usize) -> EncodedRollout {
    let latents = Array2::from_shape_fn((steps, 32), |_| random.normal() as f32);
    EncodedRollout {
        environment: environment(),
        seed: 1,
        policy: "noise".into(),
        encoder: encoder.digest.clone(),
        std_devs: latents.mapv(f32::abs),
        extras: Default::default(),
        latents,
        actions: Array2::zeros((steps, 2)),
        rewards: vec![0.0; steps],
        terminated: false,
        truncated: false,
    }
}

/// The threads that decode frames.
const DECODERS: usize = 2;
const FRAME: usize = SHAPE.0 * SHAPE.1 * 3;
const BATCH: usize = 16;
const READERS: usize = 3;

fn frame_sampler(dataset: &Dataset, per_rollout: usize, buffer: usize) -> FrameSampler {
    let config = FrameSamplerConfig {
        batch_size: BATCH,
        obs_sampled_per_rollout: per_rollout,
        shuffle_buffer_bytes: buffer as u64,
        reader_threads: READERS,
        ..FrameSamplerConfig::default()
    };
    FrameSampler::new(dataset.split("all").unwrap(), config).unwrap()
}

fn rows(sampler: &FrameSampler, step: u64, rows: &mut [f32]) {
    let form = |observation: ObservationRef<'_>, row: &mut [f32]| {
        let ObservationRef::U8(frame) = observation else { panic!("frames") };
        unit_floats(frame, row);
    };
    sampler.rows(step, rows, form).unwrap();
}

/// What a sampler of frames says it holds at most, with a buffer of `buffer` bytes.
fn promised(buffer: usize, record: usize) -> usize {
    2 * buffer
        + (READERS + 1) * (2 * record + 24 * STEPS)
        + 24 * ROLLOUTS
        + DECODERS * 2 * FRAME
        + SLACK
}

fn frame_samplers(directory: &Path) {
    let data = directory.join("raw");
    let record = write(&data, None, ROLLOUTS, raw);
    let dataset = Dataset::open(&data).unwrap();
    let mut row = vec![0.0; BATCH * FRAME];
    let mut epochs = |buffer: usize| {
        let sampler = frame_sampler(&dataset, 20, buffer);
        (0..2 * (ROLLOUTS * 20 / BATCH) as u64).for_each(|step| rows(&sampler, step, &mut row));
    };
    // What is set up once.
    epochs(100_000);
    for buffer in [100_000, 400_000] {
        let held = most(|| epochs(buffer));
        let promised = promised(buffer, record);
        assert!(held <= promised, "{held} bytes for a buffer of {buffer}, {promised} promised");
        assert!(held > buffer, "{held} bytes: the buffer of {buffer} is used");
    }
}

/// Where frames are larger than the manifest lets expect, the rest is read again and not held.
fn frames_that_are_larger_than_expected(directory: &Path) {
    let data = directory.join("larger");
    let record = write(&data, None, ROLLOUTS, raw);
    let path = DatasetManifest::path_in(&data);
    let mut manifest = Dataset::open(&data).unwrap().manifest().clone();
    manifest.shards[0].bytes /= 8;
    std::fs::write(&path, serde_json::to_vec(&manifest).unwrap()).unwrap();
    let dataset = Dataset::open(&data).unwrap();
    let per_rollout = 60;
    // All rollouts are a block, of which one buffer has room and the other has not.
    let (buffer, whole) = (2_000_000, ROLLOUTS * per_rollout * FRAME);
    let (mut row, mut other) = (vec![0.0; BATCH * FRAME], vec![0.0; BATCH * FRAME]);
    let batches = (ROLLOUTS * per_rollout / BATCH) as u64;
    let held = most(|| {
        let sampler = frame_sampler(&dataset, per_rollout, buffer);
        (0..batches + 3).step_by(5).for_each(|step| rows(&sampler, step, &mut row));
    });
    let promised = promised(buffer, record);
    assert!(held <= promised, "{held} bytes for a buffer of {buffer}, {promised} promised");
    assert!(promised < whole, "{promised} bytes would be enough to hold all {whole}");
    let [small, large] = [buffer, 2 * whole].map(|b| frame_sampler(&dataset, per_rollout, b));
    for step in [0, 1, batches / 2, batches - 1, batches] {
        rows(&small, step, &mut row);
        rows(&large, step, &mut other);
        assert_eq!(row, other, "batch {step}");
    }
}

fn window_samplers(directory: &Path, rollouts: usize, steps: usize, memories: &[usize]) {
    let encoder = EncoderSource {
        name: "test".to_owned(),
        path: "encoder".into(),
        digest: digest_bytes(b"weights"),
        latent_width: 32,
        extras: Default::default(),
    };
    let data = directory.join(rollouts.to_string());
    let encoded = |random: &mut Random| encoded(random, &encoder, steps);
    let record = write(&data, Some(encoder.clone()), rollouts, encoded);
    let dataset = Dataset::open(&data).unwrap();
    let length = steps.min(9);
    let windows = |memory: usize| {
        let config =
            WindowSamplerConfig { batch_size: BATCH, length, reader_threads: READERS, seed: 0 };
        let all = dataset.split("all").unwrap();
        let sampler = WindowSampler::new(all, config, MemoryBudget::new(memory as u64)).unwrap();
        (0..20).for_each(|step| drop(sampler.batch(step).unwrap()));
        assert!(sampler.kept() < rollouts);
    };
    windows(0);
    for &memory in memories {
        let held = most(|| windows(memory));
        // A window is copied once more than the batch.
        let batch = 2 * BATCH * length * (32 + 32 + 2 + 2) * size_of::<f32>();
        let promised = memory + READERS * 2 * record + 48 * rollouts + batch + SLACK;
        assert!(held <= promised, "{held} bytes for {memory}, {promised} promised");
        assert!(held > memory, "{held} bytes: the memory of {memory} is used");
    }
}

// One test, as several would count at once.
#[test]
fn samplers_hold_what_they_promise() {
    let directory = tempfile::tempdir().unwrap();
    // Threads of which it is known how many there are, and that they have begun.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(DECODERS).build().unwrap();
    pool.broadcast(|_| ());
    pool.install(|| {
        frame_samplers(directory.path());
        frames_that_are_larger_than_expected(directory.path());
        window_samplers(directory.path(), ROLLOUTS, STEPS, &[0, 100_000, 500_000]);
        // So many that what is held for each rollout is most of it.
        window_samplers(directory.path(), 10_000, 2, &[0]);
    });
}
