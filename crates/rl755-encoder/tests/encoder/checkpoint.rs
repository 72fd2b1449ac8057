//! Latents belong to the checkpoint that made them.

use std::{fs, path::Path};

use rl755_encoder::{TrainEncoderConfig, encoder_checkpoint, encoder_identity};
use rl755_run::{Manifest, RunDir, WEIGHTS};
use serde_json::json;

/// A finished training of an encoder without parameters, with checkpoints of these weights.
fn encoder_run(path: &Path, checkpoints: &[(u64, &str)]) {
    let defaults = TrainEncoderConfig::default();
    let config = json!({
        "model": "identity", "model_config": {},
        "observation_space": { "kind": "box", "low": [-1.0], "high": [1.0] },
        "split": "train", "validation_split": "validation", "validation_observations": 0,
        "optimizer": defaults.optimizer, "training": defaults.training,
        "batch_size": 1, "obs_sampled_per_rollout": 1, "shuffle_buffer_bytes": 1,
    });
    let manifest = Manifest::begin("train-encoder", "identity", 0, config, vec![]);
    let mut run = RunDir::begin(path, manifest, false).unwrap();
    for (number, weights) in checkpoints {
        run.checkpoints().save(*number, |path| fs::write(path.join(WEIGHTS), weights)).unwrap();
    }
    run.complete(serde_json::Map::new()).unwrap();
}

#[test]
fn the_checkpoint_that_made_the_latents_is_found_and_others_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    encoder_run(&at("encoder"), &[(1, "a"), (3, "b"), (4, "c")]);
    encoder_run(&at("other"), &[(1, "d")]);
    for number in [1, 3, 4] {
        let identity = encoder_identity(&at("encoder"), Some(number)).unwrap();
        assert_eq!(encoder_checkpoint(&at("encoder"), &identity).unwrap(), number);
        let error = encoder_checkpoint(&at("other"), &identity).unwrap_err().to_string();
        let expected = "is the encoder that made the latents, identity (";
        assert!(error.contains(expected) && error.contains("other"), "{error}");
    }
}
