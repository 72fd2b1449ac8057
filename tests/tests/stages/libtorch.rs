//! LibTorch on the CPU gives what burn's own CPU device gives, within rounding.
//!
//! Outside the default run: `cargo xtask test-tch` sets LibTorch up and runs it.

use std::{collections::BTreeMap, fs};

use crate::lab::{Lab, flags};
use safetensors::SafeTensors;

/// The greatest relative difference.
const TOLERANCE: f64 = 1e-4;

/// The greatest difference of a step's direction. Adam's first step is as long for a gradient that
/// is only rounding as for any other, and the weights' own rounding is some thousandths of it.
const STEP_TOLERANCE: f64 = 0.1;

/// Trains one step on both devices from the same seed; losses, gradients and weights must agree.
#[track_caller]
fn check(lab: &Lab, stage: &str, flags: &str) {
    for device in ["flex", "tch"] {
        let run = format!("--model-dir {device} --device {device}");
        lab.succeed(stage, &format!("{flags} {run} --learning-rate 1e-5"));
    }
    let (flex, tch) = (metrics(lab, "flex"), metrics(lab, "tch"));
    assert!(flex.contains_key("loss") && flex.contains_key("gradient_norm"), "{flex:?}");
    for (name, expected) in flex {
        let error = (tch[&name] - expected).abs() / expected.abs().max(1e-6);
        assert!(error < TOLERANCE, "{stage}: {name} is {} on tch, {expected} on flex", tch[&name]);
    }
    // A step too small to change any weight tells where both began.
    lab.succeed(stage, &format!("{flags} --model-dir begin --device flex --learning-rate 1e-38"));
    let (begin, flex, tch) = (weights(lab, "begin"), weights(lab, "flex"), weights(lab, "tch"));
    for (name, expected) in flex {
        // Attention does not depend on the bias of its keys: that gradient is rounding alone, and
        // Adam's first step is as long for it as for any other.
        if name.ends_with("key.bias") {
            continue;
        }
        let difference = distance(&expected, &tch[&name]);
        let error = difference / distance(&expected, &vec![0.0; expected.len()]).max(1e-6);
        assert!(error < TOLERANCE, "{stage}: {name} differs by {error:e}");
        // Weights are far longer than a step: one that is missing or goes the other way would
        // hardly show in them.
        let step = distance(&expected, &begin[&name]);
        assert!(step > 0.0 && difference < STEP_TOLERANCE * step, "{stage}: {name} stepped apart");
    }
    for device in ["flex", "tch", "begin"] {
        fs::remove_dir_all(lab.path(device)).unwrap();
    }
}

/// The Euclidean distance.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
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
    let step = "--train-steps 1 --save-every-n-steps 1 --log-every-n-steps 1";
    for model in ["vae-64", "vae-96"] {
        let flags = format!("--model {model} --rollouts-dataset dataset --batch-size 8 {step}");
        check(&lab, "train-encoder", &flags);
    }
    let sequence = format!("--rollouts-dataset encoded --batch-size 4 --sequence-length 16 {step}");
    for model in ["mdn-rnn", "transformer"] {
        check(&lab, "train-sequence", &format!("--model {model} {sequence}"));
    }
}
