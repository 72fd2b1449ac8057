//! Wherever a watched training is when it is told to end or is killed, nothing is left behind, and
//! `--resume` makes of it what one without an interruption is.

use std::{fs, os::unix::process::ExitStatusExt};

use rustix::process::{Pid, Signal, kill_process_group};

use super::watched::{Watched, assert_nobody_is_left, assert_not_served, left, names, send};
use crate::lab::Lab;

/// An iteration has many episodes, played by many threads, and then many updates.
const TRAINING: &str = "--environment CartPole-v1 --algorithm ppo --batch-size 8000 --epochs 2 \
    --parallelism 8 --threads 1 --iterations 8 --save-every-n-steps 2";
/// In rollouts the training has at least so many threads, else at most so few.
const THREADS: (usize, usize) = (11, 7);
/// A training that ends before it is where it is to be interrupted is begun again so often.
const TRIES: usize = 20;

/// Waits until a training is somewhere; nothing if it ends before.
type Reach = fn(&mut Watched<'_>) -> Option<()>;

const PHASES: [(&str, Reach); 8] = [
    ("before the worker is ready", |training| {
        training.until(|training| training.worker(None)).map(drop)
    }),
    ("in the first rollouts", |training| {
        training.until(|training| (training.threads() >= THREADS.0).then_some(()))?;
        (training.logged() == 0).then_some(())
    }),
    ("in an update", |training| {
        training.advance()?;
        training.until(|training| (training.threads() >= THREADS.0).then_some(()))?;
        training.until(|training| (training.threads() <= THREADS.1).then_some(()))
    }),
    ("while a checkpoint is saved", |training| {
        training.until(|training| {
            let mut names = fs::read_dir(training.file("checkpoints")).ok()?.flatten();
            names.find(|name| name.file_name().to_string_lossy().ends_with(".tmp")).map(drop)
        })
    }),
    ("while the worker is stopped", |training| {
        training.url()?;
        send(training.worker(None)?, Signal::STOP);
        training.advance()
    }),
    ("while the worker is stopped before it is ready", |training| {
        send(training.until(|training| training.worker(None))?, Signal::STOP);
        training.advance()
    }),
    ("while the worker is restarted", |training| {
        send(training.until(|training| training.worker(None))?, Signal::KILL);
        training.hear("the plotter's worker ").map(drop)
    }),
    ("while the plotter is closed", |training| {
        // So it lasts.
        send(training.until(|training| training.worker(None))?, Signal::STOP);
        training.until(|training| training.is_complete().then_some(()))
    }),
];

/// How a training is told to end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Signal(Signal),
    /// Ctrl-C in a terminal, which reaches all of its process group.
    CtrlC,
    /// Its terminal is closed.
    HangUp,
}

#[test]
fn an_interrupted_training_leaves_nothing_behind_and_is_resumed_to_the_same_bits() {
    let others = [Ending::CtrlC, Ending::HangUp, Ending::Signal(Signal::TERM)];
    let others = PHASES.into_iter().zip(others);
    check(PHASES.into_iter().map(|phase| (phase, Ending::Signal(Signal::INT))).chain(others));
}

#[test]
fn a_killed_training_leaves_no_process_and_is_resumed_to_the_same_bits() {
    check(PHASES.into_iter().map(|phase| (phase, Ending::Signal(Signal::KILL))));
}

fn check(endings: impl Iterator<Item = ((&'static str, Reach), Ending)>) {
    let lab = Lab::new();
    lab.succeed("train-policy", &format!("{TRAINING} --model-dir plain"));
    let (expected, files) = (left(&lab, "plain"), names(&lab, "plain"));
    for ((phase, reach), ending) in endings {
        let told = format!("{ending:?} {phase}");
        let url = (0..TRIES).find_map(|_| {
            let _ = fs::remove_dir_all(lab.path("run"));
            let mut training = Watched::start(&lab, "train-policy", TRAINING, "run");
            reach(&mut training)?;
            let url = training.address();
            end(training, ending, &told).then_some(url)
        });
        let url = url.unwrap_or_else(|| panic!("{told}: each time it was over before"));
        assert_nobody_is_left(&lab);
        url.as_deref().map(assert_not_served);
        if ending != Ending::Signal(Signal::KILL) {
            // Nothing that a whole training has not, too.
            let more: Vec<_> = names(&lab, "run").difference(&files).cloned().collect();
            assert!(more.is_empty(), "{told}: {more:?}");
        }
        lab.succeed("train-policy", &format!("{TRAINING} --model-dir run --plot --resume"));
        assert_nobody_is_left(&lab);
        assert_eq!(left(&lab, "run"), expected, "{told}");
        assert_eq!(names(&lab, "run"), files, "{told}");
    }
}

/// Ends a training, which must do as it is told. Whether that came in time.
fn end(mut training: Watched<'_>, ending: Ending, told: &str) -> bool {
    let was_complete = training.is_complete();
    match ending {
        Ending::Signal(signal) => send(training.id(), signal),
        Ending::CtrlC => {
            // An error says that it is over.
            let _ = kill_process_group(Pid::from_raw(training.id() as i32).unwrap(), Signal::INT);
        }
        Ending::HangUp => {
            training.turn_away();
            send(training.id(), Signal::HUP);
        }
    }
    let status = training.wait();
    if ending == Ending::Signal(Signal::KILL) {
        assert!(status.success() || status.signal() == Some(Signal::KILL.as_raw()), "{told}");
        return !status.success();
    }
    assert!(status.success() || status.code() == Some(130), "{told}: {status}");
    // What was complete already is so.
    was_complete || !status.success()
}
