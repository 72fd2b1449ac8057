//! Bad input gives a clear error, an exit code that is not 0, and leaves nothing half-written.

use std::{fs, process::Stdio};

use crate::lab::{Lab, flags};

/// Runs a stage that must fail with `expected` in its errors, and must not leave `output` behind.
#[track_caller]
fn check(lab: &Lab, stage: &str, flags: &str, expected: &str, output: Option<&str>) {
    let result = lab.run(stage, flags);
    let errors = String::from_utf8_lossy(&result.stderr);
    assert!(!result.status.success(), "{stage} {flags} succeeded");
    assert!(errors.contains(expected), "{stage} {flags}: expected `{expected}` in:\n{errors}");
    assert!(!errors.contains("panicked"), "{stage} {flags} panicked:\n{errors}");
    if let Some(output) = output {
        assert!(!lab.path(output).exists(), "{stage} {flags} left {output}");
    }
}

#[test]
fn collect_refuses_bad_flags() {
    let lab = Lab::new();
    let bad = |flags: &str, expected| {
        check(&lab, "collect", &format!("--out-dir new {flags}"), expected, Some("new"));
    };
    bad("--num-rollouts 0", "--num-rollouts");
    bad("--num-rollouts -1", "--num-rollouts");
    bad("--num-rollouts 1 --max-steps 0", "--max-steps");
    bad("--num-rollouts 1 --parallelism 0", "from 1 to");
    bad("--num-rollouts 1 --environment CarRacing-v2", "did you mean `CarRacing-v3`?");
    bad("--num-rollouts 1 --policy smoth", "did you mean `smooth`?");
    bad("--num-rollouts 1 --device cuda:0", "unexpected argument");
    fs::write(lab.path("file"), "").unwrap();
    check(&lab, "collect", "--num-rollouts 1 --out-dir file", "file", None);
    check(&lab, "collect", "--num-rollouts 1 --out-dir /proc/rollouts", "/proc/rollouts", None);
}

#[test]
fn pack_refuses_missing_empty_and_damaged_rollouts() {
    let lab = Lab::new();
    let bad = |flags: &str, expected| check(&lab, "pack", flags, expected, Some("new"));
    bad("--rollout-dir none --out-dir new", "none");
    fs::create_dir(lab.path("empty")).unwrap();
    bad("--rollout-dir empty --out-dir new", "empty");
    lab.succeed("collect", "--num-rollouts 3 --max-steps 20 --out-dir rollouts");
    bad("--rollout-dir rollouts --out-dir new --validation-fraction 1.5", "validation_fraction");
    bad("--rollout-dir rollouts --out-dir new --rollouts-per-tfrecord-file 0", "from 1 to");
    let file = lab.path("rollouts/rollout-0000-000001.tfrecord");
    let mut bytes = fs::read(&file).unwrap();
    bytes.truncate(1000);
    fs::write(&file, bytes).unwrap();
    bad("--rollout-dir rollouts --out-dir new", "rollout-0000-000001.tfrecord");
    // Told to, it leaves the damaged one out and says so.
    let output = lab.succeed("pack", "--rollout-dir rollouts --out-dir dataset --skip-corrupt");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("left out") && errors.contains("000001"), "{errors}");
}

#[test]
fn results_that_nobody_reads_fail_nothing_and_results_that_are_lost_do() {
    let lab = Lab::new();
    let collect = |stdout: Stdio| {
        let mut command = lab.command("collect", "--num-rollouts 1 --max-steps 2 --out-dir new");
        command.stdout(stdout).output().unwrap()
    };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert!(collect(writer.into()).status.success());
    #[cfg(target_os = "linux")]
    {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let result = collect(full.into());
        let errors = String::from_utf8_lossy(&result.stderr);
        assert_eq!(result.status.code(), Some(1));
        assert!(errors.contains("cannot write to stdout"), "{errors}");
    }
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf_8_are_refused() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let lab = Lab::new();
    let mut command = lab.command("pack", "--out-dir new --rollout-dir");
    let result = command.arg(OsStr::from_bytes(b"n\xff")).output().unwrap();
    let errors = String::from_utf8_lossy(&result.stderr);
    assert!(errors.contains("the argument \"n\\xFF\" is not UTF-8"), "{errors}");
}

#[test]
fn verify_names_the_bad_file_record_and_offset() {
    let lab = Lab::new();
    check(&lab, "verify", "--pattern none*", "no file matches `none*`", None);
    check(&lab, "verify", "--pattern a[", "a[", None);
    lab.succeed("collect", "--num-rollouts 4 --max-steps 20 --out-dir rollouts");
    lab.succeed("pack", "--rollout-dir rollouts --out-dir data --rollouts-per-tfrecord-file 1");
    let shard = lab.path("data/rollouts.tfrecord-00002-of-00004");
    let mut bytes = fs::read(&shard).unwrap();
    bytes[5000] ^= 1;
    fs::write(&shard, bytes).unwrap();
    let output = lab.run("verify", "--pattern data/rollouts.tfrecord*");
    assert_eq!(output.status.code(), Some(1));
    let found = String::from_utf8_lossy(&output.stdout);
    assert!(found.contains("tfrecord-00002-of-00004: record 0 at byte 0: "), "{found}");
    for index in [0, 1] {
        let path = lab.path(&format!("data/rollouts.tfrecord-0000{index}-of-00004"));
        fs::write(path, "not a record").unwrap();
    }
    check(&lab, "verify", "--pattern data", "that is no accident", None);
}

/// A lab with a dataset of a few short rollouts, raw.
fn with_dataset() -> Lab {
    let lab = Lab::new();
    lab.succeed("collect", "--num-rollouts 4 --max-steps 20 --out-dir rollouts");
    lab.succeed("pack", "--rollout-dir rollouts --out-dir dataset --validation-fraction 0.25");
    lab
}

const ENCODER: &str = "--rollouts-dataset dataset --train-steps 1 --batch-size 2 \
                       --representation-size 4 --save-every-n-steps 1";

#[test]
fn train_encoder_refuses_what_it_cannot_train() {
    let lab = with_dataset();
    let bad = |flags: &str, expected| {
        check(&lab, "train-encoder", &format!("--model-dir new {flags}"), expected, Some("new"));
    };
    bad("--rollouts-dataset none", "none is no dataset");
    bad(&format!("{ENCODER} --model vae-65"), "did you mean `vae-64`?");
    bad(&format!("{ENCODER} --model identity"), "identity takes vectors");
    bad(&format!("{ENCODER} --environment CartPole-v1"), "holds rollouts of CarRacing-v3");
    bad(&format!("{ENCODER} --split test"), "no split called `test`");
    bad(&format!("{ENCODER} --learning-rate -1"), "not greater than 0");
    bad(&format!("{ENCODER} --learning-rate nan"), "not greater than 0");
    bad(&format!("{ENCODER} --model-config {{\"betta\":1}}"), "unknown field `betta`");
    bad(&format!("{ENCODER} --model-config 3"), "no JSON object");
    bad(&format!("{ENCODER} --model-config {{\"latent_size\":2}}"), "not both");
    bad(&format!("{ENCODER} --device cuda:0"), "cargo xtask build --device cuda");
    bad("--rollouts-dataset dataset --batch-size 0", "from 1 to");

    lab.succeed("train-encoder", &format!("{ENCODER} --model-dir encoder"));
    let again = |flags: &str, expected| {
        let flags = format!("{ENCODER} --model-dir encoder {flags}");
        check(&lab, "train-encoder", &flags, expected, None);
    };
    again("", "--resume");
    again("--resume --seed 5", "another seed");
    again("--resume --learning-rate 0.5", "learning_rate");
}

#[test]
fn a_shard_that_is_damaged_later_stops_training_and_encoding() {
    let lab = with_dataset();
    lab.succeed("train-encoder", &format!("{ENCODER} --model-dir encoder"));
    let shard = lab.path("dataset/rollouts.tfrecord-00000-of-00002");
    let mut bytes = fs::read(&shard).unwrap();
    let half = bytes.len() / 2;
    bytes[half] ^= 4;
    fs::write(&shard, bytes).unwrap();
    let damaged = "rollouts.tfrecord-00000-of-00002";
    let encode = "--model encoder --rollouts-dataset dataset --out-dir encoded";
    check(&lab, "encode", encode, damaged, Some("encoded/dataset.json"));
    let train = ENCODER.replace("--train-steps 1", "--train-steps 50 --model-dir other");
    check(&lab, "train-encoder", &train, damaged, Some("other/checkpoints/model-050"));
}

#[test]
fn later_stages_refuse_inputs_of_another_kind() {
    let lab = with_dataset();
    lab.succeed("train-encoder", &format!("{ENCODER} --model-dir encoder"));
    let encode = "--rollouts-dataset dataset --out-dir new";
    let bad = |stage: &str, flags: &str, expected| check(&lab, stage, flags, expected, Some("new"));
    bad("encode", &format!("--model none {encode}"), "none is no run directory");
    bad("encode", &format!("--model encoder --checkpoint 7 {encode}"), "7");
    bad(
        "encode",
        &format!("--model encoder {encode} --num-outer-shards 2 --outer-shard-index 2"),
        "it goes from 0 to 1",
    );
    bad("train-sequence", "--rollouts-dataset dataset --model-dir new", "encoded");

    lab.succeed("encode", "--model encoder --rollouts-dataset dataset --out-dir encoded");
    bad("encode", "--model encoder --rollouts-dataset encoded --out-dir new", "raw");
    let sequence = "--rollouts-dataset encoded --train-steps 1 --batch-size 2";
    let long = format!("{sequence} --model-dir new --sequence-length 21");
    bad("train-sequence", &long, "encoded");
    let large = "--rollouts-dataset encoded --model-dir new --sequence-length 10";
    bad(
        "train-sequence",
        &format!("{large} --batch-size 1000000"),
        "batch_size is 1000000; it must be ",
    );
    let typo = format!("{sequence} --model-dir new --model-config {{\"mixtures\":true}}");
    bad("train-sequence", &typo, "mixtures: invalid type: boolean `true`");
    bad(
        "train-sequence",
        &format!("{sequence} --model-dir new --ema-decay 1"),
        "from 0 to below 1",
    );
    let unknown = format!("{sequence} --model-dir new --model mdnrnn");
    bad("train-sequence", &unknown, "did you mean `mdn-rnn`?");
    lab.succeed("train-encoder", &format!("{ENCODER} --seed 1 --model-dir other"));
    let other = format!("{sequence} --model-dir new --encoder other");
    bad("train-sequence", &other, "no checkpoint in other is the encoder that made the latents");

    let null = format!("{sequence} --sequence-length 10 --model null --model-dir sequence");
    lab.succeed("train-sequence", &null);
    let controller = "--encoder encoder --sequence sequence --model-dir new";
    bad("train-controller", "--encoder sequence --model-dir new", "train-sequence");
    let wrong = format!("{controller} --environment CartPole-v1");
    bad("train-controller", &wrong, "observation");
    bad("train-controller", &format!("{controller} --population 1"), "population");
    bad("train-controller", &format!("{controller} --sigma 0"), "not greater than 0");
    bad("train-controller", &format!("{controller} --controller liner"), "`linear`?");
    bad("evaluate", "--controller encoder --episodes 1 --out-dir new", "train-controller");
    bad("evaluate", "--policy uniform --out-dir new --environment CarRacing-v4", "`CarRacing-v3`?");
    bad("evaluate", "--policy uniform --episodes 0 --out-dir new", "from 1 to");
    bad("evaluate", "--policy uniforn --episodes 1 --out-dir new", "did you mean `uniform`?");
}

#[test]
fn train_policy_refuses_what_it_cannot_train() {
    let lab = Lab::new();
    let bad = |flags: &str, expected| {
        check(&lab, "train-policy", &format!("--model-dir new {flags}"), expected, Some("new"));
    };
    bad("--environment CarRacing-v3", "a policy sees vectors");
    bad("--environment CartPole", "did you mean `CartPole-v1`?");
    bad("--algorithm trop", "trpo, ppo");
    bad("--clip 0.1", "--clip is for --algorithm ppo, not trpo");
    bad("--algorithm ppo --damping 0.1", "--damping is for --algorithm trpo, not ppo");
    bad("--discount 1.01", "discount is 1.01; it must be from 0 to 1");
    bad("--hidden 32,0", "from 1 to 1024");
    bad("--hidden 32,2000", "from 1 to 1024");
    bad("--max-kl 0", "max_kl is 0; it must be from 0.000001 to 1");
    bad("--gae-lambda -1", "gae_lambda is -1; it must be from 0 to 1");
    bad("--cg-iterations 0", "from 1 to 1000");
    bad("--max-backtracks 101", "from 1 to 100");
    bad("--algorithm ppo --epochs 0", "from 1 to 1000");
    bad("--parallelism 0", "from 1 to 1024");
    bad("--batch-size 0", "from 1 to");
    bad("--max-steps 2000000 --environment Acrobot-v1", "from 1 to 1000000");
    bad("--device cuda:0", "unexpected argument");
    let train = "--iterations 1 --batch-size 100 --model-dir policy";
    lab.succeed("train-policy", train);
    check(&lab, "train-policy", train, "--resume", None);
    let bad = |flags: &str, expected| check(&lab, "evaluate", flags, expected, Some("new"));
    bad("--trained-policy none --out-dir new", "none is no run directory");
    bad("--trained-policy policy --environment CartPole-v1 --out-dir new", "cannot be used with");
    lab.succeed("evaluate", "--trained-policy policy --episodes 2 --out-dir scores");
}

#[test]
fn a_controller_is_not_evaluated_with_models_it_was_not_trained_with() {
    let lab = Lab::new();
    for stage in
        ["collect", "pack", "train-encoder", "encode", "train-sequence", "train-controller"]
    {
        lab.succeed(stage, flags(stage));
    }
    fs::remove_dir_all(lab.path("encoder")).unwrap();
    lab.succeed("train-encoder", &format!("{} --seed 9", flags("train-encoder")));
    check(&lab, "evaluate", flags("evaluate"), "encoder", Some("evaluation/scores.json"));
    // Nor are scores written over a run of another stage.
    check(&lab, "evaluate", "--policy uniform --episodes 1 --out-dir sequence", "sequence", None);
}
