//! Samplers hold no more than they promise, however large the dataset is: counted by the allocator,
//! which is why this test has a program of its own.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use ndarray::Array2;
use rl755_data::{
    Dataset, DatasetManifest, EncodedRollout, EncoderSource, FrameSampler, FrameSamplerConfig,
    MANIFEST_FORMAT, MemoryBudget, Rollout, ShardWriter, StoredRollout, WindowSampler,
    WindowSamplerConfig, shard_name, train_and_validation, unit_floats,
};
use rl755_env::{EnvSpec, ObservationBuffer, ObservationRef, Space};
use rl755_run::{Random, digest_bytes};

/// The system's allocator, counting what is held and the most that ever was.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn took(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::SeqCst) + bytes;
    MOST.fetch_max(held, Ordering::SeqCst);
}

#[allow(unsafe_code, reason = "the trait is unsafe; every call goes to the system's as it came")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::SeqCst);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size);
        HELD.fetch_sub(layout.size(), Ordering::SeqCst);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The most bytes that were held beyond those before `work`.
fn most(work: impl FnOnce()) -> usize {
    let before = HELD.load(Ordering::SeqCst);
    MOST.store(before, Ordering::SeqCst);
    work();
    MOST.load(Ordering::SeqCst) - before
}

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
    rollout: impl Fn(&mut Random) -> R,
) -> usize {
    let file = shard_name("noise", 0, 1);
    let mut writer = ShardWriter::create(directory, &file).unwrap();
    let mut longest = 0;
    for index in 0..ROLLOUTS {
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
        splits: train_and_validation(ROLLOUTS, 0.0),
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

fn encoded(random: &mut Random, encoder: &EncoderSource) -> EncodedRollout {
    let latents = Array2::from_shape_fn((STEPS, 32), |_| random.normal() as f32);
    EncodedRollout {
        environment: environment(),
        seed: 1,
        policy: "noise".into(),
        encoder: encoder.digest.clone(),
        std_devs: latents.mapv(f32::abs),
        latents,
        actions: Array2::zeros((STEPS, 2)),
        rewards: vec![0.0; STEPS],
        terminated: false,
        truncated: false,
    }
}

// One test, as both would count at once.
#[test]
fn samplers_hold_what_they_promise() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("raw");
    let record = write(&data, None, raw);
    let dataset = Dataset::open(&data).unwrap();
    let (batch, reader_threads) = (16, 3);
    let mut rows = vec![0.0; batch * SHAPE.0 * SHAPE.1 * 3];
    let mut epochs = |shuffle_buffer_bytes: u64| {
        let config = FrameSamplerConfig {
            batch_size: batch,
            obs_sampled_per_rollout: 20,
            shuffle_buffer_bytes,
            reader_threads,
            ..FrameSamplerConfig::default()
        };
        let sampler = FrameSampler::new(dataset.split("all").unwrap(), config).unwrap();
        for step in 0..2 * (ROLLOUTS * 20 / batch) as u64 {
            let form = |observation: ObservationRef<'_>, row: &mut [f32]| {
                let ObservationRef::U8(frame) = observation else { panic!("frames") };
                unit_floats(frame, row);
            };
            sampler.rows(step, &mut rows, form).unwrap();
        }
    };
    // What is set up once.
    epochs(100_000);
    for buffer in [100_000, 400_000] {
        let held = most(|| epochs(buffer as u64));
        let promised =
            2 * buffer + reader_threads * (2 * record + 24 * STEPS) + 24 * ROLLOUTS + SLACK;
        assert!(held <= promised, "{held} bytes for a buffer of {buffer}, {promised} promised");
        assert!(held > buffer, "{held} bytes: the buffer of {buffer} is used");
    }

    let encoder = EncoderSource {
        name: "test".to_owned(),
        path: "encoder".into(),
        digest: digest_bytes(b"weights"),
        latent_width: 32,
    };
    let data = directory.path().join("encoded");
    let record = write(&data, Some(encoder.clone()), |random| encoded(random, &encoder));
    let dataset = Dataset::open(&data).unwrap();
    let windows = |memory: u64| {
        let config = WindowSamplerConfig { batch_size: batch, length: 9, reader_threads, seed: 0 };
        let all = dataset.split("all").unwrap();
        let sampler = WindowSampler::new(all, config, MemoryBudget::new(memory)).unwrap();
        for step in 0..20 {
            sampler.batch(step).unwrap();
        }
        assert!(sampler.kept() < ROLLOUTS);
    };
    windows(0);
    for memory in [0, 100_000, 500_000] {
        let held = most(|| windows(memory as u64));
        // A window is copied once more than the batch.
        let batch = 2 * batch * 9 * (32 + 32 + 2 + 2) * size_of::<f32>();
        let promised = memory + reader_threads * 2 * record + 24 * ROLLOUTS + batch + SLACK;
        assert!(held <= promised, "{held} bytes for {memory}, {promised} promised");
        assert!(held > memory, "{held} bytes: the memory of {memory} is used");
    }
}
