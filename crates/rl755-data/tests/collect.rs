//! Collecting: what is stored, resuming, several processes at once, and what goes wrong.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use rl755_data::{
    CollectConfig, CollectError, FrameFormat, PolicyRegistry, Rollout, StoredRollout, collect,
    record::RecordReader,
};
use rl755_env::{ObservationBuffer, ObservationRef};
use rl755_run::{Interrupt, Progress, Silent};
use support::*;

/// Names the directory that a process of this test collects into.
const CHILD: &str = "RL755_COLLECT_CHILD";

fn read(path: &Path) -> Rollout {
    let bytes = fs::read(path).unwrap();
    let mut reader = RecordReader::new(&bytes[..]);
    let record = reader.next_record().unwrap().unwrap().to_vec();
    assert!(reader.next_record().unwrap().is_none());
    Rollout::from_record(&record).unwrap()
}

fn run(config: &CollectConfig, interrupt: &Interrupt) -> Result<bool, CollectError> {
    collect(config, &environments(), &PolicyRegistry::with_builtin(), &Silent, interrupt)
        .map(|report| report.interrupted)
}

#[test]
fn a_rollout_holds_the_frame_before_each_action() {
    let directory = tempfile::tempdir().unwrap();
    let config = CollectConfig { max_steps: 6, ..config(directory.path()) };
    let report = collect_all(&config);
    assert_eq!((report.session, report.collected, report.resumed), (0, 6, 0));
    let mut env = environments().make(Stripes::ID).unwrap();
    let mut frame = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    let (mut steps, mut ends) = (0, [0, 0]);
    for index in 0..6 {
        let rollout = read(&directory.path().join(format!("rollout-0000-{index:06}.tfrecord")));
        assert_eq!((&rollout.environment, rollout.policy.as_str()), (env.spec(), "smooth"));
        env.reset(Some(rollout.seed), frame.as_mut()).unwrap();
        let mut last = None;
        for step in 0..rollout.steps() {
            assert_eq!(rollout.observations.row(step, frame_len(&frame)), frame.as_ref());
            let action = rollout.actions.row(step).to_vec();
            let outcome = env.step(&action, frame.as_mut()).unwrap();
            assert_eq!(outcome.reward as f32, rollout.rewards[step]);
            last = Some(outcome);
        }
        let terminated = last.unwrap().terminated;
        assert_eq!((rollout.terminated, rollout.truncated), (terminated, !terminated));
        assert!(rollout.steps() <= 6 && (terminated || rollout.steps() == 6));
        ends[usize::from(terminated)] += 1;
        steps += rollout.steps() as u64;
    }
    assert_eq!(report.steps, steps);
    assert!(ends.iter().all(|&n| n > 0), "both ends should be among the rollouts: {ends:?}");
}

fn frame_len(frame: &ObservationBuffer) -> usize {
    match frame.as_ref() {
        ObservationRef::U8(v) => v.len(),
        ObservationRef::F32(v) => v.len(),
    }
}

#[test]
fn vector_observations_and_discrete_actions_are_kept_exactly() {
    let directory = tempfile::tempdir().unwrap();
    let environment = "CartPole-v1".to_owned();
    let policy = "repeated".to_owned();
    collect_all(&CollectConfig { environment, policy, max_steps: 50, ..config(directory.path()) });
    let rollout = read(&directory.path().join("rollout-0000-000002.tfrecord"));
    let mut env = environments().make("CartPole-v1").unwrap();
    let mut state = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    env.reset(Some(rollout.seed), state.as_mut()).unwrap();
    for step in 0..rollout.steps() {
        assert_eq!(rollout.observations.row(step, 4), state.as_ref());
        env.step(&rollout.actions.row(step).to_vec(), state.as_mut()).unwrap();
    }
}

#[test]
fn frames_are_the_same_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    let rollout = |frame_format: FrameFormat| {
        let out_dir = directory.path().join(frame_format.name());
        collect_all(&CollectConfig { frame_format, ..config(&out_dir) });
        let path = out_dir.join("rollout-0000-000000.tfrecord");
        (read(&path), fs::metadata(path).unwrap().len())
    };
    let ((png, _), (tensor, size)) = (rollout(FrameFormat::Png), rollout(FrameFormat::Tensor));
    assert_eq!(png, tensor);
    assert!(size > frame_len(&png.observations) as u64, "as they are, not compressed");
}

#[test]
fn threads_do_not_change_the_rollouts() {
    let directory = tempfile::tempdir().unwrap();
    let rollouts = |parallelism: usize| {
        let out_dir = directory.path().join(parallelism.to_string());
        collect_all(&CollectConfig { parallelism, ..config(&out_dir) });
        files(&out_dir)
    };
    let one = rollouts(1);
    assert_eq!(one.len(), 6);
    assert!(one == rollouts(2) && one == rollouts(5));
}

#[test]
fn collecting_again_adds_other_rollouts() {
    let directory = tempfile::tempdir().unwrap();
    let config = config(directory.path());
    collect_all(&config);
    // Unless once is enough.
    let once = collect_all(&CollectConfig { once: true, ..config.clone() });
    assert_eq!((once.session, once.resumed, once.collected), (0, 6, 0));
    let before = files(directory.path());
    assert_eq!(before.len(), 6);
    // One that is gone is collected again.
    std::fs::remove_file(directory.path().join("rollout-0000-000002.tfrecord")).unwrap();
    let once = collect_all(&CollectConfig { once: true, ..config.clone() });
    assert_eq!((once.session, once.resumed, once.collected), (0, 5, 1));
    assert!(files(directory.path()) == before);
    assert_eq!(collect_all(&config).session, 1);
    let files = files(directory.path());
    let different: std::collections::BTreeSet<_> = files.values().collect();
    assert_eq!((files.len(), different.len()), (12, 12));
}

#[test]
fn rollouts_of_another_environment_are_not_added() {
    let directory = tempfile::tempdir().unwrap();
    collect_all(&config(directory.path()));
    let other = CollectConfig { environment: "CartPole-v1".to_owned(), ..config(directory.path()) };
    let policies = PolicyRegistry::with_builtin();
    let error = collect(&other, &environments(), &policies, &Silent, &Interrupt::new());
    let error = error.unwrap_err().to_string();
    assert!(error.ends_with("has rollouts of Stripes-v0; give another directory"), "{error}");
    assert_eq!(files(directory.path()).len(), 6);
}

#[test]
fn several_at_once_lose_and_repeat_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let config = CollectConfig { num_rollouts: 20, parallelism: 2, ..config(directory.path()) };
    let mut sessions: Vec<u32> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| collect_all(&config).session)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    sessions.sort_unstable();
    assert_eq!(sessions, [0, 1, 2, 3]);
    let files = files(directory.path());
    let different: std::collections::BTreeSet<_> = files.values().collect();
    assert_eq!((files.len(), different.len()), (80, 80));
}

/// Raises an interrupt when `after` rollouts are done.
struct StopAfter(AtomicU64, Interrupt);

impl Progress for StopAfter {
    fn set(&self, done: u64, _total: u64) {
        if done == self.0.load(Ordering::SeqCst) {
            self.1.raise();
        }
    }
}

#[test]
fn an_interrupted_session_goes_on_to_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, parts) = (directory.path().join("whole"), directory.path().join("parts"));
    collect_all(&config(&whole));
    let config = config(&parts);
    let mut done = 0;
    for after in [2, 4] {
        let interrupt = Interrupt::new();
        let stop = StopAfter(AtomicU64::new(after), interrupt.clone());
        let policies = PolicyRegistry::with_builtin();
        let report = collect(&config, &environments(), &policies, &stop, &interrupt).unwrap();
        done = report.resumed + report.collected;
        // One more may be ready by the time that the last one is written.
        assert!(report.interrupted && (after..=after + 1).contains(&done), "{done}");
        assert_eq!(files(&parts).len() as u64, done);
    }
    let report = collect_all(&config);
    assert_eq!((report.session, report.resumed, report.collected), (0, done, 6 - done));
    assert_eq!(files(&parts), files(&whole));
}

/// A process that collects `config`'s rollouts into `out_dir`.
fn child(out_dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_process_that_collects", "--nocapture"])
        .env(CHILD, out_dir)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Does nothing unless a test of this file started it as a process.
#[test]
fn a_process_that_collects() {
    if let Some(out_dir) = std::env::var_os(CHILD) {
        collect_all(&many(Path::new(&out_dir)));
    }
}

fn many(out_dir: &Path) -> CollectConfig {
    CollectConfig { num_rollouts: 300, parallelism: 2, ..config(out_dir) }
}

#[test]
fn a_killed_process_is_resumed_to_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, killed) = (directory.path().join("whole"), directory.path().join("killed"));
    collect_all(&many(&whole));
    fs::create_dir(&killed).unwrap();
    for enough in [1, 60, 150] {
        let mut process = child(&killed);
        while files(&killed).len() < enough && process.try_wait().unwrap().is_none() {
            thread::yield_now();
        }
        process.kill().unwrap();
        process.wait().unwrap();
        for bytes in files(&killed).into_values() {
            let record = RecordReader::new(&bytes[..]).next_record().unwrap().unwrap().to_vec();
            Rollout::from_record(&record).expect("files appear only when complete");
        }
    }
    let report = collect_all(&many(&killed));
    assert_eq!(report.session, 0);
    assert_eq!(files(&killed), files(&whole));
    assert_eq!(temporaries(&killed), Vec::<std::path::PathBuf>::new());
}

#[test]
fn two_processes_at_once_take_different_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let mut processes = [child(directory.path()), child(directory.path())];
    for process in &mut processes {
        assert!(process.wait().unwrap().success());
    }
    let files = files(directory.path());
    let different: std::collections::BTreeSet<_> = files.values().collect();
    assert_eq!((files.len(), different.len()), (600, 600));
}

#[test]
fn a_failing_environment_stops_the_session_and_keeps_what_is_done() {
    for (id, expected) in [
        ("Failing-v0", "Broken-v0: the wheel came off"),
        ("Panicking-v0", "a thread that collects rollouts panicked: the wheel came off"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let config = CollectConfig { environment: id.to_owned(), ..config(directory.path()) };
        let error = run(&config, &Interrupt::new()).unwrap_err().to_string();
        assert_eq!(error, expected);
        assert_eq!(files(directory.path()).len(), 2, "{id}");
        assert_eq!(temporaries(directory.path()).len(), 0, "{id}");
    }
}

#[test]
fn wrong_requests_write_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let out_dir = directory.path().join("out");
    let check = |edit: &dyn Fn(&mut CollectConfig), expected: &str| {
        let mut config = config(&out_dir);
        edit(&mut config);
        let error = run(&config, &Interrupt::new()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!out_dir.exists(), "{expected}");
    };
    check(&|c| c.num_rollouts = 0, "num_rollouts is 0; it must be from 1 to 1000000");
    check(&|c| c.num_rollouts = 1 << 60, "num_rollouts is 1152921504606846976");
    check(&|c| c.parallelism = 0, "parallelism is 0");
    check(&|c| c.max_steps = 0, "max_steps is 0");
    check(&|c| c.environment = "Stripes".to_owned(), "did you mean `Stripes-v0`?");
    check(&|c| c.policy = "smoooth".to_owned(), "did you mean `smooth`?");
}

#[test]
fn a_path_that_is_no_directory_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = run(&config(&file), &Interrupt::new()).unwrap_err();
    assert!(matches!(&error, CollectError::Io { .. }), "{error}");
    assert!(error.to_string().contains("file"), "{error}");
}
