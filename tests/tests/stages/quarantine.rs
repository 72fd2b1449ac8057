//! A damaged shard is taken away, and packing again writes that one alone.

use std::fs;

use crate::lab::Lab;

#[test]
fn a_shard_in_quarantine_is_written_again_by_packing() {
    let lab = Lab::new();
    lab.succeed("collect", "--num-rollouts 4 --max-steps 20 --out-dir rollouts");
    let pack = "--rollout-dir rollouts --out-dir dataset --rollouts-per-tfrecord-file 1";
    lab.succeed("pack", pack);
    let whole = lab.contents("dataset");
    let name = "rollouts.tfrecord-00002-of-00004";
    let shard = lab.path("dataset").join(name);
    let mut bytes = fs::read(&shard).unwrap();
    bytes[5000] ^= 1;
    fs::write(&shard, &bytes).unwrap();

    let output = lab.run("verify", "--pattern dataset --quarantine bad");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("run rl755-pack with the same flags again"), "{errors}");
    assert!(!shard.exists());
    assert_eq!(fs::read(lab.path("bad").join(name)).unwrap(), bytes);

    let output = lab.succeed("pack", pack);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("(3 shards were there already)"), "{text}");
    assert_eq!(lab.contents("dataset"), whole);
    lab.succeed("verify", "--pattern dataset");
}
