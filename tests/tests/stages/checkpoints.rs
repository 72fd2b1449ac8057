//! Which checkpoint of a model a controller works with.

use std::{fs, path::Path};

use rl755_run::{RunDir, TrainedRun};
use serde_json::Value;

use crate::lab::Lab;

/// What the controller in `run` remembers of its `model`, `encoder` or `sequence`.
fn remembered(lab: &Lab, model: &str) -> Value {
    let manifest = RunDir::read(&lab.path("controller"), "train-controller").unwrap();
    manifest.config["models"][model].clone()
}

/// The model in a checkpoint of the run `path`.
fn identity(path: &Path, stage: &str, number: u64) -> Value {
    let run = TrainedRun::open(path, stage, Some(number)).unwrap();
    serde_json::to_value(run.identity().unwrap()).unwrap()
}

#[test]
fn a_controller_works_with_the_checkpoint_that_is_asked_for() {
    let lab = Lab::new();
    lab.succeed(
        "collect",
        "--environment CartPole-v1 --policy uniform --num-rollouts 8 --max-steps 30 \
         --out-dir rollouts",
    );
    lab.succeed("pack", "--rollout-dir rollouts --out-dir dataset --validation-fraction 0.25");
    let training = "--train-steps 3 --save-every-n-steps 1";
    lab.succeed(
        "train-encoder",
        &format!(
            "--model mlp --rollouts-dataset dataset --model-dir encoder --batch-size 4 {training}"
        ),
    );
    lab.succeed(
        "encode",
        "--model encoder --checkpoint 1 --rollouts-dataset dataset --out-dir encoded",
    );
    lab.succeed(
        "train-sequence",
        &format!(
            "--model lstm --rollouts-dataset encoded --model-dir sequence --batch-size 4 \
             --sequence-length 4 --model-config {{\"hidden_size\":8}} {training}"
        ),
    );
    let (encoder, sequence) = (lab.path("encoder"), lab.path("sequence"));
    // After so few steps any of them may be the best.
    for (run, best) in [(&encoder, 1), (&sequence, 2)] {
        let path = run.join("manifest.json");
        let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert!(manifest["results"]["best_checkpoint"].is_u64());
        manifest["results"]["best_checkpoint"] = best.into();
        fs::write(&path, manifest.to_string()).unwrap();
    }

    let train = "--encoder encoder --environment CartPole-v1 --population 2 --trials 1 \
                 --generations 1 --max-steps 5 --evaluation-episodes 1";
    let check = |flags: &str, encoder_number: u64, sequence_number: Option<u64>| {
        let _ = fs::remove_dir_all(lab.path("controller"));
        lab.succeed("train-controller", &format!("{train} --model-dir controller {flags}"));
        let expected = identity(&encoder, "train-encoder", encoder_number);
        assert_eq!(remembered(&lab, "encoder"), expected, "{flags}");
        let expected = sequence_number.map(|n| identity(&sequence, "train-sequence", n));
        assert_eq!(remembered(&lab, "sequence"), expected.unwrap_or_default(), "{flags}");
    };
    check("", 3, None);
    check("--checkpoint 2", 2, None);
    check("--checkpoint best", 1, None);
    // The encoder is the one that made the latents, whichever the sequence model's checkpoint is.
    check("--sequence sequence", 1, Some(3));
    check("--sequence sequence --checkpoint 1", 1, Some(1));
    check("--sequence sequence --checkpoint last", 1, Some(3));
    check("--sequence sequence --checkpoint best", 1, Some(2));
    // It is evaluated with them, too.
    lab.succeed("evaluate", "--controller controller --episodes 1 --max-steps 5 --out-dir scores");

    for (checkpoint, expected) in [("9", "has no checkpoint model-009"), ("x", "best or last")] {
        let flags = format!("{train} --model-dir new --checkpoint {checkpoint}");
        let output = lab.run("train-controller", &flags);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(expected), "{errors}");
        assert!(!lab.path("new").exists());
    }
}
