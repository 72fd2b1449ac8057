//! Several collecting processes share a directory.

use crate::lab::Lab;

#[test]
fn two_collects_at_once_lose_nothing_and_duplicate_nothing() {
    let lab = Lab::new();
    let flags = "--num-rollouts 6 --max-steps 30 --out-dir rollouts --seed 1";
    let mut first = lab.start("collect", flags);
    let mut second = lab.start("collect", flags);
    assert!(first.wait().unwrap().success());
    assert!(second.wait().unwrap().success());
    let rollouts: Vec<_> = lab
        .contents("rollouts")
        .into_iter()
        .filter(|(file, _)| file.extension().is_some_and(|e| e == "tfrecord"))
        .collect();
    assert_eq!(rollouts.len(), 12);
    let mut digests: Vec<_> = rollouts.iter().map(|(_, digest)| digest).collect();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 12, "two rollouts are the same");
    // One after the other gives the same rollouts as both at once.
    let alone = Lab::new();
    alone.succeed("collect", flags);
    alone.succeed("collect", flags);
    for (file, digest) in rollouts {
        assert_eq!(alone.contents("rollouts")[&file], digest, "{}", file.display());
    }
}
