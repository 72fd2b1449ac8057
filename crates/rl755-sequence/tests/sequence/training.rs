//! Models learn, resume with the same bits, and do not depend on threads.

use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use burn::tensor::Device;
use rl755_run::{Interrupt, Outcome, Progress, TrainingConfig};
use rl755_sequence::{SequenceRegistry, SequenceRunConfig, StageContext, TrainSequenceConfig};

use crate::synthetic::{at_rate, config, dataset, dataset_of, rollout, short_rollout, train};

const TRAINED: [&str; 5] = ["transformer", "mdn-rnn", "lstm", "retrieval", "infilling"];

/// The lines of `metrics.jsonl` that have `name`, with their values.
fn logged(model_dir: &Path, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(model_dir.join("metrics.jsonl")).unwrap();
    let values = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    values.filter_map(|line| line.get(name)?.as_f64()).collect()
}

fn weights(model_dir: &Path, number: u64) -> Vec<u8> {
    let checkpoint = model_dir.join(format!("checkpoints/model-{number:03}"));
    fs::read(checkpoint.join("model.safetensors")).unwrap()
}

#[test]
fn models_beat_repeating_the_last_latent() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 24);
    for model in TRAINED {
        for difference_targets in [false, true] {
            if model == "infilling" && difference_targets {
                continue; // it is refused
            }
            let config = TrainSequenceConfig {
                training: TrainingConfig {
                    train_steps: 300,
                    save_every_n_steps: 100,
                    log_every_n_steps: 20,
                },
                optimizer: at_rate(model, 5e-3),
                difference_targets,
                ..config(model, &data)
            };
            let run = directory.path().join(format!("{model}-{difference_targets}"));
            assert_eq!(train(&config, &run, false, &Interrupt::new()).unwrap(), Outcome::Complete);
            let losses = logged(&run, "loss");
            assert!(losses[losses.len() - 1] < losses[0], "{model}: {losses:?}");
            let (loss, baseline) =
                (logged(&run, "validation_loss"), logged(&run, "validation_baseline"));
            assert_eq!([loss.len(), baseline.len()], [3, 3]);
            // Half the mean square, or half a nat for each dimension.
            let wanted = if model == "mdn-rnn" { baseline[2] - 0.5 } else { 0.5 * baseline[2] };
            assert!(loss[2] < wanted, "{model}: {loss:?} against {baseline:?}");
        }
    }
}

/// Raises its interrupt when a step is reached.
struct StopAt {
    step: u64,
    interrupt: Interrupt,
    seen: AtomicU64,
}

impl Progress for StopAt {
    fn set(&self, done: u64, _total: u64) {
        self.seen.store(done, Ordering::SeqCst);
        if done == self.step {
            self.interrupt.raise();
        }
    }
}

#[test]
fn an_interrupted_training_ends_with_the_same_bits() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 8);
    let device = Device::flex();
    for model in TRAINED {
        let config = config(model, &data);
        let whole = directory.path().join(format!("{model}-whole"));
        train(&config, &whole, false, &Interrupt::new()).unwrap();
        for step in [2, 3, 5] {
            let parts = directory.path().join(format!("{model}-{step}"));
            let interrupt = Interrupt::new();
            let stop = StopAt { step, interrupt: interrupt.clone(), seen: AtomicU64::new(0) };
            let context = StageContext {
                device: &device,
                progress: &stop,
                interrupt: &interrupt,
                decode: None,
            };
            let registry = SequenceRegistry::with_builtin();
            let outcome = registry.train(&config, &parts, false, &context).unwrap();
            assert_eq!(outcome, Outcome::Interrupted { step });
            assert!(registry.load(&parts, None, &device).is_err(), "an unfinished run was loaded");
            train(&config, &parts, true, &Interrupt::new()).unwrap();
            assert!(weights(&parts, 2) == weights(&whole, 2), "{model} interrupted at {step}");
            for file in ["metrics.jsonl", "dream_latents.png"] {
                let read = |run: &Path| fs::read(run.join(file)).unwrap();
                assert!(read(&parts) == read(&whole), "{file} of {model} interrupted at {step}");
            }
        }
    }
}

#[test]
fn threads_do_not_change_the_weights() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 8);
    for model in TRAINED {
        let trained = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let run = directory.path().join(format!("{model}-{threads}"));
            pool.install(|| train(&config(model, &data), &run, false, &Interrupt::new()).unwrap());
            weights(&run, 2)
        };
        let one = trained(1);
        assert!(one == trained(2) && one == trained(3), "{model}");
    }
}

#[test]
fn latents_are_drawn_anew_only_when_asked() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 8);
    let trained = |sample_observations: bool| {
        let run = directory.path().join(format!("{sample_observations}"));
        let config = TrainSequenceConfig { sample_observations, ..config("mdn-rnn", &data) };
        train(&config, &run, false, &Interrupt::new()).unwrap();
        weights(&run, 2)
    };
    assert!(trained(true) != trained(false));
}

#[test]
fn latents_without_deviations_are_drawn_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let mut rollouts: Vec<_> = (0..8).map(rollout).collect();
    for rollout in &mut rollouts {
        rollout.std_devs.fill(0.0);
    }
    let data = dataset_of(directory.path(), &rollouts);
    for model in TRAINED {
        let [drawn, means] = [true, false].map(|sample_observations| {
            let run = directory.path().join(format!("{model}-{sample_observations}"));
            let config = TrainSequenceConfig { sample_observations, ..config(model, &data) };
            train(&config, &run, false, &Interrupt::new()).unwrap();
            (weights(&run, 2), fs::read(run.join("metrics.jsonl")).unwrap())
        });
        assert!(drawn == means, "{model}");
    }
}

/// Keeps the lines that a stage says.
#[derive(Default)]
struct Said(Mutex<Vec<String>>);

impl Progress for Said {
    fn set(&self, _done: u64, _total: u64) {}

    fn line(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

#[test]
fn rollouts_that_are_too_short_are_left_out_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    // A window has one step more than a sequence of 8; the last two are for validation.
    let lengths = [90, 8, 9, 3, 40, 8, 8, 5];
    let rollouts: Vec<_> = (0..).zip(lengths).map(|(i, n)| short_rollout(i, n)).collect();
    let data = dataset_of(directory.path(), &rollouts);
    let said = Said::default();
    let (device, interrupt) = (Device::flex(), Interrupt::new());
    let context =
        StageContext { device: &device, progress: &said, interrupt: &interrupt, decode: None };
    let run = directory.path().join("run");
    let registry = SequenceRegistry::with_builtin();
    let outcome = registry.train(&config("mdn-rnn", &data), &run, false, &context).unwrap();
    assert_eq!(outcome, Outcome::Complete);
    assert!(logged(&run, "validation_loss").is_empty());
    let said = said.0.lock().unwrap().join("\n");
    assert!(said.contains("3 of 6 rollouts are left out: they are shorter than 9 steps"), "{said}");
    assert!(said.contains("no validation: "), "{said}");
}

#[test]
fn the_manifest_says_all_that_loading_needs() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 8);
    let run = directory.path().join("run");
    train(&config("mdn-rnn", &data), &run, false, &Interrupt::new()).unwrap();
    // The dataset is not needed any more.
    fs::remove_dir_all(&data).unwrap();
    let config = SequenceRunConfig::read(&run).unwrap();
    assert_eq!((config.sizes.latent, config.sizes.action, config.sizes.sequence_length), (2, 1, 8));
    assert_eq!((config.encoder.as_str(), config.batch_size), ("circle", 8));
    assert_eq!(config.model_config["hidden_size"], 24);
    assert_eq!(config.model_config["terminal_weight"], 10.0);
    assert_eq!(config.optimizer.max_gradient_norm, Some(1.0));
    let registry = SequenceRegistry::with_builtin();
    for checkpoint in [None, Some(1), Some(2)] {
        let model = registry.load(&run, checkpoint, &Device::flex()).unwrap();
        let sizes = [model.latent_size(), model.action_size(), model.hidden_size()];
        assert_eq!(sizes, [2, 1, 24]);
    }
    let error = registry.load(&run, Some(9), &Device::flex()).err().unwrap().to_string();
    assert!(error.ends_with("run has no checkpoint model-009"), "{error}");
}

#[test]
fn a_model_without_weights_is_ready_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 8);
    let run = directory.path().join("run");
    let outcome = train(&config("null", &data), &run, false, &Interrupt::new()).unwrap();
    assert_eq!(outcome, Outcome::Complete);
    assert_eq!(train(&config("null", &data), &run, true, &Interrupt::new()).unwrap(), outcome);
    let model = SequenceRegistry::with_builtin().load(&run, None, &Device::flex()).unwrap();
    assert_eq!([model.latent_size(), model.hidden_size()], [2, 0]);
}

#[test]
fn a_learning_rate_that_is_too_high_is_noticed_and_the_tensor_named() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 8);
    for model in TRAINED {
        // Weights near 1e30 are finite, the next loss is not. 1e39 leaves infinite weights at once,
        // which must not be saved.
        let first = match model {
            "mdn-rnn" | "lstm" => "lstm.input_weight",
            "retrieval" => "transformer.input.weight",
            "infilling" => "generator.input.weight",
            _ => "input.weight",
        };
        for (rate, save_every_n_steps, expected) in [
            (1e30, 10, "loss is not finite at step 2".to_owned()),
            (1e39, 1, format!("{first} is not finite at step 1")),
        ] {
            let training =
                TrainingConfig { train_steps: 10, save_every_n_steps, log_every_n_steps: 1 };
            let config = TrainSequenceConfig {
                optimizer: at_rate(model, rate),
                training,
                ..config(model, &data)
            };
            let run = directory.path().join(format!("{model}-{rate}"));
            let error = train(&config, &run, false, &Interrupt::new()).unwrap_err().to_string();
            assert!(error.starts_with(&expected), "{error}");
            assert!(!run.join("checkpoints/model-001").exists(), "{model}: saved");
            assert!(SequenceRegistry::with_builtin().load(&run, None, &Device::flex()).is_err());
        }
    }
}

#[test]
fn a_run_goes_on_to_more_steps_unless_its_learning_rate_was_made_for_fewer() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 8);
    let at = |steps: u64, decay: rl755_nn::Decay| {
        let mut config = config("mdn-rnn", &data);
        config.training.train_steps = steps;
        let mut optimizer = at_rate("mdn-rnn", 1e-3).unwrap();
        optimizer.schedule.decay = decay;
        config.optimizer = Some(optimizer);
        config
    };
    let weights = |run: &str, number: u64| {
        let checkpoints = directory.path().join(run).join("checkpoints");
        let path = rl755_run::Checkpoints::new(&checkpoints).path(number);
        std::fs::read(path.join("model.safetensors")).unwrap()
    };
    let go = |steps, decay, run: &str| {
        train(&at(steps, decay), &directory.path().join(run), true, &Interrupt::new())
    };
    go(9, rl755_nn::Decay::Constant, "whole").unwrap();
    go(6, rl755_nn::Decay::Constant, "parts").unwrap();
    go(9, rl755_nn::Decay::Constant, "parts").unwrap();
    assert!(weights("whole", 3) == weights("parts", 3));
    let cosine = rl755_nn::Decay::Cosine { final_rate: 0.0 };
    go(6, cosine, "cosine").unwrap();
    let error = go(9, cosine, "cosine").unwrap_err().to_string();
    assert!(error.contains("train_steps 9, was 6"), "{error}");
}
