//! Training is repeatable, resumable, and stops when it should.

use std::fs;

use burn::tensor::Device;
use rl755_encoder::{EncoderRegistry, StageContext, TrainEncoderConfig};
use rl755_run::{Interrupt, Outcome, Progress, RunDir, Silent};

use crate::synthetic::{Place, train, weights};

#[test]
fn the_loss_falls_and_the_run_says_what_came_out() {
    let place = Place::with_frames(12);
    for model in ["vae-64", "vae-96", "vae", "autoencoder", "simclr"] {
        let run = place.train(&place.narrow(model, 30), model);
        let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let losses: Vec<f64> = lines.iter().filter_map(|l| l["loss"].as_f64()).collect();
        assert_eq!(losses.len(), 30);
        for name in ["loss", "reconstruction", "gradient_norm"] {
            assert!(lines[0][name].is_number(), "{name}");
        }
        assert_eq!(lines[0]["kl"].is_number(), model.starts_with("vae"));
        let manifest = RunDir::read(&run, "train-encoder").unwrap();
        assert_eq!(manifest.name, model);
        assert!(manifest.results["parameters"].as_u64().unwrap() > 500);
        let validated: Vec<f64> =
            lines.iter().filter_map(|l| l["validation_loss"].as_f64()).collect();
        assert_eq!(validated.len(), 15);
        // Losses of batches differ by what is in them; these are all of the same observations.
        let share = if model == "simclr" { 0.9 } else { 0.8 };
        assert!(validated[14] < share * validated[0], "{validated:?}");
        assert_eq!(manifest.results["validation_loss"].as_f64(), validated.last().copied());
        let picture = fs::read(run.join("reconstructions.png")).unwrap();
        assert_eq!(&picture[1..4], b"PNG");
    }
}

#[test]
fn an_interrupted_training_ends_with_the_same_bits() {
    let place = Place::with_frames(8);
    let config = place.narrow("vae-64", 5);
    let whole = place.train(&config, "whole");
    let registry = EncoderRegistry::with_builtin();
    let parts = place.path("parts");
    for at in 1..5 {
        let interrupt = Interrupt::new();
        let raise = RaiseAt { step: at, interrupt: interrupt.clone() };
        let device = Device::flex();
        let context = StageContext { device: &device, progress: &raise, interrupt: &interrupt };
        let outcome = registry.train(&config, &parts, true, &context).unwrap();
        assert_eq!(outcome, Outcome::Interrupted { step: at });
    }
    assert_eq!(train(&registry, &config, &parts, &Interrupt::new()), Outcome::Complete);
    for checkpoint in 1..=3 {
        assert!(weights(&whole, checkpoint) == weights(&parts, checkpoint), "{checkpoint}");
    }
    let read =
        |file: &str| (fs::read(whole.join(file)).unwrap(), fs::read(parts.join(file)).unwrap());
    for file in ["metrics.jsonl", "reconstructions.png"] {
        let (whole, parts) = read(file);
        assert!(whole == parts, "{file}");
    }
    let results = |path| RunDir::read(path, "train-encoder").unwrap().results;
    assert_eq!(results(&whole), results(&parts));
    // A finished run has nothing more to do, and other work is refused.
    assert_eq!(train(&registry, &config, &parts, &Interrupt::new()), Outcome::Complete);
    let other = TrainEncoderConfig { batch_size: 9, ..config };
    let error = attempt(&other, &parts);
    assert!(error.contains("batch_size 9, was 8"), "{error}");
}

/// Asks for a stop once a step is done.
pub(crate) struct RaiseAt {
    pub(crate) step: u64,
    pub(crate) interrupt: Interrupt,
}

impl Progress for RaiseAt {
    fn set(&self, done: u64, _total: u64) {
        if done == self.step {
            self.interrupt.raise();
        }
    }
}

fn attempt(config: &TrainEncoderConfig, path: &std::path::Path) -> String {
    let device = Device::flex();
    let interrupt = Interrupt::new();
    let context = StageContext { device: &device, progress: &Silent, interrupt: &interrupt };
    let registry = EncoderRegistry::with_builtin();
    registry.train(config, path, true, &context).unwrap_err().to_string()
}

#[test]
fn the_number_of_threads_does_not_change_the_run() {
    let place = Place::with_frames(8);
    for model in ["vae-64", "vae", "autoencoder", "simclr"] {
        let config = place.narrow(model, 3);
        let runs = [1, 2, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let run = pool.install(|| place.train(&config, &format!("{model}-{threads}")));
            let metrics = fs::read(run.join("metrics.jsonl")).unwrap();
            (weights(&run, 2), metrics)
        });
        assert!(runs[0] == runs[1] && runs[0] == runs[2], "{model}");
    }
}

#[test]
fn two_devices_share_the_batch() {
    let place = Place::with_frames(8);
    let mut config = place.narrow("vae-64", 3);
    let alone = place.train(&config, "alone");
    config.compute.replicas = vec![Device::flex()];
    config.compute.check_numerics = true;
    let shared = place.train(&config, "shared");
    // The work is the same: results differ by rounding alone.
    let loss = |run: &std::path::Path| {
        let results = RunDir::read(run, "train-encoder").unwrap().results;
        results["validation_loss"].as_f64().unwrap()
    };
    assert!((loss(&alone) / loss(&shared) - 1.0).abs() < 1e-4);
    assert_eq!(
        train(&EncoderRegistry::with_builtin(), &config, &alone, &Interrupt::new()),
        Outcome::Complete
    );
}

#[test]
fn a_training_starts_from_given_weights_and_keeps_the_best_checkpoints() {
    let place = Place::with_frames(12);
    let mut config = place.narrow("vae-64", 8);
    let first = place.train(&config, "first");
    config.init_weights = Some(first.join("checkpoints/model-004/model.safetensors"));
    config.checkpoints.keep = Some(1);
    let second = place.train(&config, "second");
    let losses = |run: &std::path::Path| -> Vec<f64> {
        let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
        let lines = text.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
        lines.filter_map(|l| l["validation_loss"].as_f64()).collect()
    };
    let (before, after) = (losses(&first), losses(&second));
    assert!(after[0] < before[0] && after.len() == 4, "{before:?} {after:?}");
    let manifest = RunDir::read(&second, "train-encoder").unwrap();
    let best = after.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(manifest.results["best_validation_loss"], best);
    assert_eq!(manifest.inputs.len(), 2);
    let number = manifest.results["best_checkpoint"].as_u64().unwrap();
    let mut expected = vec![number, 4];
    expected.dedup();
    let checkpoints = rl755_run::Checkpoints::new(&second.join("checkpoints"));
    assert_eq!(checkpoints.numbers().unwrap(), expected);
    let text = fs::read(checkpoints.path(4).join("config.json")).unwrap();
    let about: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&about["model"], &about["input_space"]["height"]), (&"vae-64".into(), &64.into()));
    // Weights of another architecture are told.
    let other = TrainEncoderConfig { model: "vae-96".into(), ..config };
    let error = attempt(&other, &place.path("other"));
    assert!(error.contains("model.safetensors"), "{error}");
}

#[test]
fn numbers_that_are_not_finite_stop_the_training() {
    let place = Place::with_frames(8);
    let mut config = place.narrow("vae-64", 10);
    config.optimizer.learning_rate = 1e30;
    let run = place.path("run");
    let error = attempt(&config, &run);
    assert!(error.contains("is not finite at step"), "{error}");
    assert!(RunDir::read(&run, "train-encoder").is_err());
    // The first step leaves infinite weights: they must not be saved.
    config.training.save_every_n_steps = 1;
    config.optimizer.learning_rate = 1e39;
    let run = place.path("other");
    let error = attempt(&config, &run);
    assert!(error.contains("weight is not finite at step 1"), "{error}");
    assert!(!run.join("checkpoints/model-001").exists());
}

#[test]
fn models_without_parameters_are_trained_in_a_moment() {
    let place = Place::with_vectors(8);
    let config = place.config("identity", 1000);
    let run = place.train(&config, "run");
    let manifest = RunDir::read(&run, "train-encoder").unwrap();
    assert_eq!(manifest.results["parameters"], 0);
    let encoder = EncoderRegistry::with_builtin().load(&run, None, &Device::flex()).unwrap();
    assert_eq!(encoder.latent_size(), 4);
}

#[test]
fn bad_input_leaves_no_run_behind() {
    let place = Place::with_frames(8);
    let vectors = Place::with_vectors(8);
    let narrow = place.narrow("vae-64", 2);
    let unknown_field = serde_json::json!({ "latent_sise": 3 });
    for (config, expected) in [
        (TrainEncoderConfig { model: "vae_64".into(), ..narrow.clone() }, "did you mean `vae-64`?"),
        (
            TrainEncoderConfig { model_config: unknown_field, ..narrow.clone() },
            "config of vae-64: unknown field `latent_sise`",
        ),
        (TrainEncoderConfig { dataset: place.path("none"), ..narrow.clone() }, "is no dataset"),
        (TrainEncoderConfig { split: "tain".into(), ..narrow.clone() }, "no split called `tain`"),
        (TrainEncoderConfig { batch_size: 0, ..narrow.clone() }, "batch_size is 0"),
        (
            TrainEncoderConfig { dataset: vectors.dataset(), ..narrow.clone() },
            "vae-64 takes frames, not Box(",
        ),
        (
            place.config("identity", 2),
            "identity takes vectors, not Box(0, 255, (24, 32, 3), uint8)",
        ),
    ] {
        let path = place.path("refused");
        let error = attempt(&config, &path);
        assert!(error.contains(expected), "{error}");
        assert!(!path.exists(), "{expected}");
    }
}

#[test]
fn a_dataset_without_validation_trains_without() {
    let place = Place::with_frames(1);
    let run = place.train(&place.narrow("vae-64", 2), "run");
    let manifest = RunDir::read(&run, "train-encoder").unwrap();
    assert!(!manifest.results.contains_key("validation_loss"));
    assert!(!run.join("reconstructions.png").exists());
}
