//! `kill -9` at random moments, 200 times: what has a final name is sound, and nothing is lost but
//! the rollouts in flight.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::Child,
    sync::mpsc,
    thread,
    time::Duration,
};

use rl755_run::{Digest, Random};

use crate::lab::Lab;

const KILLS: usize = 200;
/// Of these, at least so many of either kind.
const LEAST_OF_EITHER: usize = 60;
/// Directories in which that many kills must have been possible.
const DIRECTORIES: usize = 40;
/// Collectors that share a directory, each with a session of its own.
const COLLECTORS: usize = 3;
/// Kills in one directory before it is let alone: some of collectors, then some of packing.
const KILLS_OF_COLLECTORS: usize = 15;
const KILLS_OF_PACKING: usize = 10;

const PACK: &str = "--rollout-dir rollouts --out-dir dataset --rollouts-per-tfrecord-file 1 \
                    --validation-fraction 0.25 --parallelism 2";

fn collector(seed: usize) -> String {
    format!(
        "--out-dir rollouts --once --seed {seed} --num-rollouts 9 --max-steps 25 --parallelism 2"
    )
}

/// The signal of [`Child::kill`].
const SIGKILL: i32 = 9;

/// What the stages make when nobody kills them.
type Contents = BTreeMap<PathBuf, Digest>;

#[test]
fn two_hundred_killed_collects_and_packs_leave_only_sound_files() {
    let whole = Lab::new();
    for seed in 0..COLLECTORS {
        whole.succeed("collect", &collector(seed));
    }
    whole.succeed("pack", PACK);
    whole.succeed("verify", "--pattern dataset");
    let (rollouts, dataset) = (whole.contents("rollouts"), whole.contents("dataset"));

    let mut random = Random::new(9);
    let (mut of_collectors, mut of_packing, mut directories) = (0, 0, 0);
    while of_collectors + of_packing < KILLS || of_collectors.min(of_packing) < LEAST_OF_EITHER {
        directories += 1;
        assert!(directories <= DIRECTORIES, "only {of_collectors} and {of_packing} kills");
        let lab = Lab::new();
        of_collectors += kill_collectors(&lab, &mut random, &rollouts);
        for seed in 0..COLLECTORS {
            lab.succeed("collect", &collector(seed));
        }
        assert!(lab.contents("rollouts") == rollouts, "the rollouts of an undisturbed run");
        of_packing += kill_packing(&lab, &mut random, &dataset);
        lab.succeed("pack", PACK);
        assert!(lab.contents("dataset") == dataset, "the dataset of an undisturbed run");
        lab.succeed("verify", "--pattern dataset");
        for file in lab.files() {
            assert!(file.extension().is_none_or(|e| e != "tmp"), "{} is left", file.display());
        }
    }
}

/// Kills collectors, one or several at a time, and gives how many.
fn kill_collectors(lab: &Lab, random: &mut Random, whole: &Contents) -> usize {
    // Each has begun its session before the next does: rollouts depend on the session's number.
    let mut kills = 0;
    for seed in 0..COLLECTORS {
        let mut child = lab.start("collect", &collector(seed));
        let session = lab.path(&format!("rollouts/sessions/{seed:04}.json"));
        while !session.exists() {
            // It may begin its session and end between the two looks.
            let runs = child.try_wait().unwrap().is_none();
            assert!(runs || session.exists(), "it ended without a session");
            thread::yield_now();
        }
        kills += usize::from(kill(&mut child));
    }
    let mut there = sound(lab, "rollouts", whole, &BTreeSet::new());
    while kills < KILLS_OF_COLLECTORS && there.len() < whole_names(whole) {
        let first = random.below(COLLECTORS);
        let several = 1 + random.below(COLLECTORS);
        let seeds = (first..first + several).map(|seed| seed % COLLECTORS);
        let children: Vec<Child> =
            seeds.map(|seed| lab.start("collect", &collector(seed))).collect();
        for child in children {
            kills += usize::from(strike(lab, "rollouts", random, child));
        }
        there = sound(lab, "rollouts", whole, &there);
        if !there.is_empty() {
            lab.succeed("verify", "--pattern rollouts");
        }
    }
    kills
}

/// Kills packing until it is done before it can be killed, and gives how often it was.
fn kill_packing(lab: &Lab, random: &mut Random, whole: &Contents) -> usize {
    let mut kills = 0;
    let mut there = BTreeSet::new();
    while kills < KILLS_OF_PACKING {
        if !strike(lab, "dataset", random, lab.start("pack", PACK)) {
            break;
        }
        kills += 1;
        there = sound(lab, "dataset", whole, &there);
        if !there.is_empty() {
            lab.succeed("verify", "--pattern dataset/*.tfrecord*");
        }
    }
    kills
}

/// Kills `child`, which writes into `directory`, some time after some files appeared there, their
/// temporary names included. Says whether it was still at work.
fn strike(lab: &Lab, directory: &str, random: &mut Random, mut child: Child) -> bool {
    let entries = || fs::read_dir(lab.path(directory)).map_or(0, Iterator::count);
    let enough = entries() + 1 + random.below(4);
    while entries() < enough && child.try_wait().unwrap().is_none() {
        thread::yield_now();
    }
    // Nobody sends: this waits for the moment of the kill.
    let (_sender, never) = mpsc::channel::<()>();
    let _ = never.recv_timeout(Duration::from_secs_f64(random.uniform(0.0, 0.004)));
    kill(&mut child)
}

/// Kills `child` unless it has ended, which must be well; whether it had not.
#[track_caller]
fn kill(child: &mut Child) -> bool {
    let _ = child.kill();
    let status = child.wait().unwrap();
    let killed = status.signal() == Some(SIGKILL);
    assert!(killed || status.success(), "it failed by itself: {status}");
    killed
}

/// Checks that all files with final names in `directory` have the bytes of `whole`, and that those
/// that were there `before` still are. Gives the names.
fn sound(
    lab: &Lab,
    directory: &str,
    whole: &Contents,
    before: &BTreeSet<PathBuf>,
) -> BTreeSet<PathBuf> {
    let mut names = BTreeSet::new();
    if lab.path(directory).exists() {
        for (file, digest) in lab.contents(directory) {
            if is_final(&file) {
                assert_eq!(whole.get(&file), Some(&digest), "{} is bad", file.display());
                names.insert(file);
            }
        }
    }
    let lost: Vec<_> = before.difference(&names).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
    names
}

/// Whether it is a rollout, a shard or the manifest: not a session, which changes, or a lock.
fn is_final(file: &std::path::Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.contains(".tfrecord") || name == "dataset.json"
}

fn whole_names(whole: &Contents) -> usize {
    whole.keys().filter(|file| is_final(file)).count()
}
