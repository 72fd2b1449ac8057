//! Encoding a dataset: the same bits in one go, in parts, and after an interruption.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use burn::tensor::Device;
use rl755_data::{Dataset, EncodedRollout, Rollout};
use rl755_encoder::{EncodeConfig, EncoderRegistry, StageContext, encode};
use rl755_run::{Interrupt, Outcome, Progress, Silent};

use crate::synthetic::Place;

fn config(place: &Place, run: &Path, out: &str) -> EncodeConfig {
    EncodeConfig {
        model_dir: run.to_owned(),
        checkpoint: None,
        dataset: place.dataset(),
        split: "all".into(),
        out_dir: place.path(out),
        out_name: "latents".into(),
        num_outer_shards: 1,
        outer_shard_index: 0,
        num_sub_shards: 6,
    }
}

fn run_with(config: &EncodeConfig, progress: &dyn Progress, interrupt: &Interrupt) -> Outcome {
    let device = Device::flex();
    let context = StageContext { device: &device, progress, interrupt };
    encode(config, &EncoderRegistry::with_builtin(), &context).unwrap()
}

fn run(config: &EncodeConfig) {
    assert_eq!(run_with(config, &Silent, &Interrupt::new()), Outcome::Complete);
}

/// The files of a dataset, without its parts' notes.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|e| e.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().into(), fs::read(path).unwrap()))
        .collect()
}

#[test]
fn an_encoded_dataset_has_the_encoder_s_latents_and_everything_else_unchanged() {
    let place = Place::with_frames(10);
    let model = place.train(&place.narrow("vae-64", 2), "model");
    let config = config(&place, &model, "out");
    run(&config);
    let (raw, encoded) = (Dataset::open(&place.dataset()), Dataset::open(&config.out_dir));
    let (raw, encoded) = (raw.unwrap(), encoded.unwrap());
    assert_eq!(raw.manifest().splits, encoded.manifest().splits);
    let source = encoded.manifest().encoder.as_ref().unwrap();
    assert_eq!((source.name.as_str(), source.latent_width), ("vae-64", 3));
    let encoder = EncoderRegistry::with_builtin().load(&model, None, &Device::flex()).unwrap();
    for index in 0..raw.len() {
        let (a, b): (Rollout, EncodedRollout) =
            (raw.rollout(index).unwrap(), encoded.rollout(index).unwrap());
        let latents = encoder.encode(a.observations.as_ref()).unwrap();
        assert_eq!((b.latents, Some(b.std_devs)), (latents.mean, latents.std_dev));
        assert_eq!((a.actions, a.rewards, a.seed), (b.actions, b.rewards, b.seed));
        assert_eq!((a.terminated, a.truncated), (b.terminated, b.truncated));
    }
}

#[test]
fn parts_give_what_one_call_gives() {
    let place = Place::with_frames(10);
    let model = place.train(&place.narrow("vae-64", 2), "model");
    let whole = config(&place, &model, "whole");
    run(&whole);
    for parts in [2, 3, 6] {
        let mut part = config(&place, &model, &format!("parts-{parts}"));
        (part.num_outer_shards, part.num_sub_shards) = (parts, 6 / parts);
        for index in (0..parts).rev() {
            part.outer_shard_index = index;
            run(&part);
        }
        assert!(files(&whole.out_dir) == files(&part.out_dir), "{parts} parts");
    }
}

/// Asks for a stop after a number of rollouts, and counts those that were encoded.
struct StopAfter {
    rollouts: u64,
    interrupt: Interrupt,
    calls: AtomicU64,
}

impl Progress for StopAfter {
    fn set(&self, _done: u64, _total: u64) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.rollouts {
            self.interrupt.raise();
        }
    }
}

#[test]
fn an_interrupted_call_is_gone_on_with_shard_by_shard() {
    let place = Place::with_frames(10);
    let model = place.train(&place.narrow("vae-64", 2), "model");
    let whole = config(&place, &model, "whole");
    run(&whole);
    let parts = config(&place, &model, "interrupted");
    let mut calls = 0;
    loop {
        let interrupt = Interrupt::new();
        // A shard has at most 2 rollouts, so each call finishes one.
        let stop =
            StopAfter { rollouts: 3, interrupt: interrupt.clone(), calls: AtomicU64::new(0) };
        let outcome = run_with(&parts, &stop, &interrupt);
        calls += 1;
        if outcome == Outcome::Complete {
            break;
        }
        assert!(!parts.out_dir.join("dataset.json").exists());
    }
    assert!(calls > 2, "{calls}");
    assert!(files(&whole.out_dir) == files(&parts.out_dir));
}

#[test]
fn vectors_are_encoded_by_the_identity() {
    let place = Place::with_vectors(6);
    let model = place.train(&place.config("identity", 5), "model");
    let mut config = config(&place, &model, "out");
    config.split = "validation".into();
    run(&config);
    let (raw, encoded) = (Dataset::open(&place.dataset()), Dataset::open(&config.out_dir));
    let (raw, encoded) = (raw.unwrap().split("validation").unwrap(), encoded.unwrap());
    assert_eq!(raw.len(), encoded.len());
    let (a, b): (Rollout, EncodedRollout) = (raw.rollout(0).unwrap(), encoded.rollout(0).unwrap());
    let latents: Vec<f32> = b.latents.iter().copied().collect();
    assert_eq!(a.observations, rl755_env::ObservationBuffer::F32(latents));
    assert!(b.std_devs.iter().all(|&s| s == 0.0));
}

#[test]
fn what_does_not_fit_is_refused() {
    let (place, vectors) = (Place::with_frames(6), Place::with_vectors(6));
    let model = place.train(&place.narrow("vae-64", 2), "model");
    let good = config(&place, &model, "out");
    let error = |config: &EncodeConfig| {
        let device = Device::flex();
        let interrupt = Interrupt::new();
        let context = StageContext { device: &device, progress: &Silent, interrupt: &interrupt };
        let registry = EncoderRegistry::with_builtin();
        encode(config, &registry, &context).unwrap_err().to_string()
    };
    for (config, expected) in [
        (EncodeConfig { dataset: vectors.dataset(), ..good.clone() }, "takes observations Box("),
        (EncodeConfig { outer_shard_index: 1, ..good.clone() }, "outer_shard_index is 1"),
        (EncodeConfig { num_sub_shards: 0, ..good.clone() }, "num_sub_shards is 0"),
        (EncodeConfig { checkpoint: Some(9), ..good.clone() }, "no checkpoint model-009"),
        (EncodeConfig { model_dir: place.dataset(), ..good.clone() }, "is no run directory"),
        (EncodeConfig { split: "test".into(), ..good.clone() }, "no split called `test`"),
    ] {
        let error = error(&config);
        assert!(error.contains(expected), "{error}");
        assert!(!config.out_dir.exists(), "{expected}");
    }
    run(&good);
    let encoded = EncodeConfig { dataset: good.out_dir.clone(), ..good };
    assert!(error(&encoded).contains("raw ones are needed"));
}
