//! Datasets found by name.

use crate::lab::Lab;

#[test]
fn a_dataset_is_found_by_name_and_environment() {
    let lab = Lab::new();
    lab.succeed(
        "collect",
        "--environment CartPole-v1 --policy uniform --num-rollouts 4 --max-steps 30 \
         --out-dir rollouts",
    );
    lab.succeed("pack", "--rollout-dir rollouts --out-dir store/CartPole-v1/raw_rollouts");
    let named = "--environment CartPole-v1 --data-dir store";
    let training = "--model identity --model-dir encoder --train-steps 1 --batch-size 4 --resume";
    lab.succeed("train-encoder", &format!("--rollouts-dataset RawRollouts {named} {training}"));
    lab.succeed("encode", &format!("--dataset RawRollouts {named} --model encoder"));
    assert!(lab.path("store/CartPole-v1/encoded_rollouts/dataset.json").exists());
    // The environment variable stands for the flag.
    let sequence = "--dataset EncodedRollouts --environment CartPole-v1 --model null \
                    --model-dir sequence --train-steps 1 --sequence-length 4 --rollout-memory 0";
    let output =
        lab.command("train-sequence", sequence).env("RL755_DATA", "store").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let refused = |flags: &str, expected: &str| {
        let output = lab.run("train-encoder", &format!("--model-dir new {flags}"));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && errors.contains(expected), "{flags}: {errors}");
        assert!(!lab.path("new").exists());
    };
    refused("--dataset RawRollout", "did you mean `RawRollouts`?");
    refused("--dataset RawRollouts", "which environment's RawRollouts?");
    refused(
        "--dataset RawRollouts --environment CartPole-v1",
        "data/CartPole-v1/raw_rollouts is no",
    );
    refused(&format!("--dataset EncodedRollouts {named}"), "holds encoded rollouts");
    refused(
        &format!("--dataset RawRollouts {named} --model identity --shuffle-buffer 2"),
        "buffer has 2",
    );
    refused(&format!("--dataset RawRollouts {named} --shuffle-buffer big"), "such as 64MB");
    refused(&format!("--dataset RawRollouts {named} --reader-threads 0"), "from 1 to");
}
