//! An encoded dataset written by several instances is the one that a single instance writes.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{path::Path, thread};

use rl755_data::{CollectConfig, Dataset, EncodedRollout};
use rl755_run::Random;
use support::*;

/// Outer shards, an instance each, and the sub shards of each.
const OUTER: usize = 12;
const SUB: usize = 10;

/// What instance `index` of `outer` does, each with `sub` shards; whether it completed the dataset.
fn instance(data: &Path, out_dir: &Path, shards: (usize, usize), index: usize) -> bool {
    encode_into(data, out_dir, shards, index).1.is_some()
}

/// Has 12 instances of 10 shards write a dataset of so many rollouts with `run`, and compares it
/// with what one instance of 120 shards writes.
fn check(rollouts: usize, run: impl Fn(&Path, &Path)) {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let num_rollouts = rollouts as u64;
    collect_all(&CollectConfig { num_rollouts, max_steps: 2, ..config(&path("rollouts")) });
    let mut packing = pack_config(&path("rollouts"), &path("data"));
    packing.rollouts_per_tfrecord_file = 50;
    pack_all(&packing);

    assert!(instance(&path("data"), &path("one"), (1, OUTER * SUB), 0));
    run(&path("data"), &path("parts"));
    let one = files(&path("one"));
    assert_eq!(one.len(), OUTER * SUB + 1, "the shards and dataset.json");
    assert!(files(&path("parts")) == one, "{rollouts} rollouts");

    let dataset = Dataset::open(&path("parts")).unwrap();
    let sizes: Vec<usize> = dataset.manifest().shards.iter().map(|s| s.rollouts()).collect();
    let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
    assert!(most - least <= 1, "as even as possible: {sizes:?}");
    let latents: Vec<f32> = dataset
        .split("all")
        .unwrap()
        .rollouts::<EncodedRollout>()
        .map(|rollout| rollout.unwrap().latents[[0, 0]])
        .collect();
    assert_eq!(latents, (0..rollouts).map(|index| index as f32).collect::<Vec<_>>());
}

// Fewer rollouts than shards, and one more or less than there are shards.

#[test]
fn twelve_instances_in_any_order_write_what_one_writes() {
    for rollouts in [5, 121] {
        check(rollouts, |data, out_dir| {
            let mut random = Random::new(rollouts as u64);
            let mut order: Vec<usize> = (0..OUTER).collect();
            (1..OUTER).for_each(|last| order.swap(last, random.below(last + 1)));
            for &index in &order {
                let completed = instance(data, out_dir, (OUTER, SUB), index);
                assert_eq!(completed, Some(&index) == order.last(), "{order:?}");
            }
        });
    }
}

#[test]
fn twelve_instances_at_once_write_what_one_writes() {
    for rollouts in [119, 121] {
        check(rollouts, |data, out_dir| {
            let completed = thread::scope(|scope| {
                let start =
                    |index| scope.spawn(move || instance(data, out_dir, (OUTER, SUB), index));
                let instances: Vec<_> = (0..OUTER).map(start).collect();
                instances.into_iter().filter_map(|i| i.join().unwrap().then_some(())).count()
            });
            // Of several that finish at the same time each may find that all is there.
            assert!(completed >= 1);
        });
    }
}
