//! LibTorch on the CPU gives what burn's own CPU device gives, within rounding.
//!
//! Outside the default run: `cargo xtask test-tch` sets LibTorch up and runs it.

use std::{collections::BTreeMap, fs};

use crate::lab::{Lab, flags};
use safetensors::SafeTensors;

/// The greatest relative difference.
const TOLERANCE: f64 = 1e-4;

/// Trains one step on both devices from the same seed; losses, gradients and weights must agree.
#[track_caller]
fn check(lab: &Lab, stage: &str, flags: &str) {
    for device in ["flex", "tch"] {
        lab.succeed(stage, &format!("{flags} --model-dir {device} --device {device}"));
    }
    let (flex, tch) = (metrics(lab, "flex"), metrics(lab, "tch"));
    assert!(flex.contains_key("loss") && flex.contains_key("gradient_norm"), "{flex:?}");
    for (name, expected) in flex {
        let error = (tch[&name] - expected).abs() / expected.abs().max(1e-6);
        assert!(error < TOLERANCE, "{stage}: {name} is {} on tch, {expected} on flex", tch[&name]);
    }
    let (flex, tch) = (weights(lab, "flex"), weights(lab, "tch"));
    for (name, expected) in flex {
        // Attention does not depend on the bias of its keys: that gradient is rounding alone, and
        // Adam's first step is as long for it as for any other.
        if name.ends_with("key.bias") {
            continue;
        }
        let norm =
            |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
        let differences = &mut expected.iter().zip(&tch[&name]).map(|(a, b)| a - b);
        let error = norm(differences) / norm(&mut expected.iter().copied()).max(1e-6);
        assert!(error < TOLERANCE, "{stage}: {name} differs by {error:e}");
    }
    for device in ["flex", "tch"] {
        fs::remove_dir_all(lab.path(device)).unwrap();
    }
}

/// The metrics of the first step.
fn metrics(lab: &Lab, run: &str) -> BTreeMap<String, f64> {
    let text = fs::read_to_string(lab.path(run).join("metrics.jsonl")).unwrap();
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

/// The weights of the last checkpoint.
fn weights(lab: &Lab, run: &str) -> BTreeMap<String, Vec<f64>> {
    let bytes = fs::read(lab.path(run).join("checkpoints/model-001/model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let numbers = |bytes: &[u8]| {
        bytes.chunks(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect()
    };
    tensors.iter().map(|(name, view)| (name.to_owned(), numbers(view.data()))).collect()
}

#[test]
fn one_training_step_of_each_model_agrees() {
    let lab = Lab::new();
    for stage in ["collect", "pack", "train-encoder", "encode"] {
        lab.succeed(stage, flags(stage));
    }
    // A small step, as Adam's first one is as long for a gradient that is only rounding.
    let step = "--train-steps 1 --save-every-n-steps 1 --log-every-n-steps 1 --learning-rate 1e-5";
    for model in ["vae-64", "vae-96"] {
        let flags = format!("--model {model} --rollouts-dataset dataset --batch-size 8 {step}");
        check(&lab, "train-encoder", &flags);
    }
    let sequence = format!("--rollouts-dataset encoded --batch-size 4 --sequence-length 16 {step}");
    check(&lab, "train-sequence", &format!("--model mdn-rnn {sequence}"));
    // Dropout is drawn by each device in its own way.
    let transformer = "--model transformer --model-config {\"dropout\":0.0}";
    check(&lab, "train-sequence", &format!("{transformer} {sequence}"));
}
