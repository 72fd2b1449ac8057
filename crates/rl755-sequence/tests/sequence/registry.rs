//! Names, configs and datasets that do not fit are refused before anything is written.

use std::path::Path;

use rl755_data::DatasetManifest;
use rl755_run::Interrupt;
use rl755_sequence::{SequenceRegistry, TrainSequenceConfig};

use crate::synthetic::{at_rate, config, dataset, train};

#[test]
fn models_are_known_by_name() {
    let registry = SequenceRegistry::with_builtin();
    assert_eq!(
        registry.names(),
        ["infilling", "lstm", "mdn-rnn", "null", "retrieval", "transformer"]
    );
    let defaults = registry.default_config("mdn-rnn").unwrap();
    let expected = serde_json::json!({
        "hidden_size": 256, "mixtures": 5, "predict_reward": false, "predict_done": false,
        "terminal_weight": 10.0,
    });
    assert_eq!(defaults, expected);
    let error = registry.default_config("transfomer").unwrap_err().to_string();
    assert!(error.contains("did you mean `transformer`?"), "{error}");
}

/// Trains with a changed config, which must be refused with `expected`, leaving no run.
fn check(directory: &Path, change: impl FnOnce(&mut TrainSequenceConfig), expected: &str) {
    let mut config = config("mdn-rnn", &directory.join("latents"));
    change(&mut config);
    let run = directory.join("run");
    let error = train(&config, &run, false, &Interrupt::new()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
    assert!(!run.exists(), "{expected}: something was written");
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    dataset(directory, 8);
    check(directory, |c| c.model = "mdn-rn".to_owned(), "did you mean `mdn-rnn`?");
    check(directory, |c| c.model_config = serde_json::json!({ "hiden_size": 1 }), "hiden_size");
    check(directory, |c| c.model_config = serde_json::json!({ "mixtures": 0 }), "mixtures is 0");
    check(directory, |c| c.batch_size = 0, "batch_size is 0; it must be at least 1");
    let bounded = "it must be from 1 to 624609 for this model on 1 device(s)";
    let large = |c: &mut TrainSequenceConfig| {
        (c.model_config, c.batch_size) = (serde_json::json!({}), 1_000_000);
    };
    check(directory, large, &format!("batch_size is 1000000; {bounded}"));
    let deep = |c: &mut TrainSequenceConfig| {
        c.model = "transformer".to_owned();
        c.model_config = serde_json::json!({ "layers": 65_536, "hidden_size": 4 });
    };
    check(directory, deep, "batch_size is 8; it must be from 1 to 7 for this model");
    check(directory, |c| c.sequence_length = 0, "sequence_length is 0; it must be at least 1");
    check(directory, |c| c.sequence_length = 90, "none of the 6 rollouts");
    check(directory, |c| c.optimizer = at_rate("mdn-rnn", -1.0), "learning_rate is -1");
    check(directory, |c| c.optimizer = at_rate("mdn-rnn", f64::NAN), "learning_rate is NaN");
    check(directory, |c| c.split = "trian".to_owned(), "no split called `trian`");
    check(directory, |c| c.dataset = directory.join("none"), "is no dataset");
    check(directory, |c| c.training.train_steps = 0, "train_steps is 0; it must be at least 1");
}

#[test]
fn infilling_is_not_trained_on_differences() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 8);
    check(
        directory.path(),
        |c| *c = TrainSequenceConfig { difference_targets: true, ..config("infilling", &data) },
        "difference_targets is true; it must be false: infilling predicts latents themselves",
    );
}

#[test]
fn a_raw_dataset_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 8);
    let path = DatasetManifest::path_in(&data);
    let text = std::fs::read(&path).unwrap();
    let mut manifest: DatasetManifest = serde_json::from_slice(&text).unwrap();
    manifest.encoder = None;
    std::fs::write(&path, serde_json::to_vec(&manifest).unwrap()).unwrap();
    check(directory.path(), |_| {}, "encoded ones are needed");
}

#[test]
fn another_config_does_not_go_on_with_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let data = dataset(directory.path(), 8);
    let run = directory.path().join("run");
    let config = config("mdn-rnn", &data);
    train(&config, &run, false, &Interrupt::new()).unwrap();
    let changed = TrainSequenceConfig { batch_size: 9, ..config.clone() };
    let error = train(&changed, &run, true, &Interrupt::new()).unwrap_err().to_string();
    assert!(error.contains("batch_size 9, was 8"), "{error}");
    let error = train(&config, &run, false, &Interrupt::new()).unwrap_err().to_string();
    assert!(error.contains("--resume"), "{error}");
}
