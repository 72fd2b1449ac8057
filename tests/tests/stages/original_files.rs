//! Files of the original Python project become a dataset that the later stages take.

use std::{fs, path::Path};

use crate::lab::Lab;

/// What TensorFlow wrote in the original's layouts.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/rl755-data/tests/golden");

#[test]
fn files_of_the_original_are_packed_verified_and_trained_on() {
    let lab = Lab::new();
    for name in ["original_encoded", "original_encoded_obs_std_devs", "original_raw_3_actions"] {
        let file = format!("{name}.tfrecord");
        fs::copy(Path::new(GOLDEN).join(&file), lab.path(&file)).unwrap();
    }
    let encoded = "--tfrecords original_encoded*.tfrecord --environment CarRacing-v3 \
                   --validation-fraction 0";
    let output = lab.succeed("pack", &format!("{encoded} --out-dir dataset"));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("2 train and 0 validation rollouts in 1 shards"), "{text}");
    for pattern in ["dataset", "original_*.tfrecord"] {
        lab.succeed("verify", &format!("--pattern {pattern}"));
    }
    lab.succeed(
        "train-sequence",
        "--rollouts-dataset dataset --model null --model-dir sequence --train-steps 1 \
         --batch-size 2 --sequence-length 2",
    );

    // Its frames are of another environment.
    let raw = "--tfrecords original_raw_3_actions.tfrecord --environment CarRacing-v3";
    for (flags, expected) in [
        (raw, "frames of 2x3x3, where [96, 96, 3] of u8 as in CarRacing-v3"),
        ("--tfrecords original_encoded*.tfrecord", "--environment"),
        ("--tfrecords none*.tfrecord --environment CarRacing-v3", "none*.tfrecord"),
    ] {
        let output = lab.run("pack", &format!("{flags} --out-dir new"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(expected), "{flags}: {errors}");
        assert!(!lab.path("new").exists(), "{flags}");
    }
}
