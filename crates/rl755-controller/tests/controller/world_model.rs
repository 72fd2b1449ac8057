//! A sequence model belongs to the encoder on whose latents it was trained.

use std::{fs, path::Path};

use rl755_controller::encoder_checkpoint;
use rl755_encoder::encoder_digest;
use rl755_run::{Digest, Manifest, RunDir};
use serde_json::json;

/// A finished training of an encoder without parameters, with checkpoints of these weights.
fn encoder_run(path: &Path, checkpoints: &[(u64, &str)]) {
    let config = json!({
        "model": "identity", "model_config": {},
        "observation_space": { "kind": "box", "low": [-1.0], "high": [1.0] },
        "split": "train", "validation_split": "validation", "validation_observations": 0,
        "optimizer": rl755_encoder::TrainEncoderConfig::default().optimizer,
        "training": rl755_encoder::TrainEncoderConfig::default().training,
        "batch_size": 1, "obs_sampled_per_rollout": 1, "shuffle_buffer": 1,
    });
    let manifest = Manifest::begin("train-encoder", "identity", 0, config, vec![]);
    let mut run = RunDir::begin(path, manifest, false).unwrap();
    for (number, weights) in checkpoints {
        run.checkpoints()
            .save(*number, |path| fs::write(path.join("model.safetensors"), weights))
            .unwrap();
    }
    run.complete(serde_json::Map::new()).unwrap();
}

/// A training of a sequence model on the latents of the encoder of that digest.
fn sequence_run(path: &Path, encoder_digest: &Digest) {
    let defaults = rl755_sequence::TrainSequenceConfig::default();
    let config = json!({
        "model": "null", "model_config": {}, "encoder": "identity",
        "sizes": { "latent": 1, "action": 1, "sequence_length": 8 },
        "encoder_digest": encoder_digest, "sample_observations": true,
        "difference_targets": false, "split": "train", "validation_split": "validation",
        "validation_batches": 0,
        "optimizer": rl755_encoder::TrainEncoderConfig::default().optimizer,
        "training": defaults.training, "batch_size": 1,
    });
    let manifest = Manifest::begin("train-sequence", "null", 0, config, vec![]);
    drop(RunDir::begin(path, manifest, false).unwrap());
}

#[test]
fn the_checkpoint_that_made_the_latents_is_found_and_others_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    encoder_run(&at("encoder"), &[(1, "a"), (3, "b"), (4, "c")]);
    encoder_run(&at("other"), &[(1, "d")]);
    for number in [1, 3, 4] {
        let sequence = at(&format!("sequence-{number}"));
        sequence_run(&sequence, &encoder_digest(&at("encoder"), Some(number)).unwrap());
        assert_eq!(encoder_checkpoint(&at("encoder"), &sequence).unwrap(), number);
        let error = encoder_checkpoint(&at("other"), &sequence).unwrap_err().to_string();
        let expected = "the sequence model was trained with the encoder identity (";
        assert!(error.starts_with(expected) && error.contains("other"), "{error}");
    }
}
