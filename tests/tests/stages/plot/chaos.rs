//! A training around whose worker all goes wrong that can ends with the same bits as one that nobody
//! watches.
//!
//! Nothing here is timed: what comes next comes when the training has logged more, the worker has said
//! where it is or another process is there, or a browser was told something.

use std::{
    io::{self, Write},
    net::TcpStream,
};

use rl755_run::Random;
use rustix::process::Signal;
use serde_json::Value;

use super::watched::{
    CONTROLLER, Watched, assert_nobody_is_left, assert_not_served, left, make_world_model, names,
    send,
};
use crate::{browser::Browser, lab::Lab};

/// How many trainings each test has; 1 if that is not set.
const TRAININGS: &str = "RL755_CHAOS_TRAININGS";
/// A training that ends before all went wrong once is done again with more steps, up to so many.
const MOST_STEPS: u32 = 100_000;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Strike {
    /// The worker stands still, and goes on.
    Stop,
    /// It is ended by one of [`SIGNALS`].
    End,
    /// It is killed while it stands still.
    StopAndKill,
    /// It is killed, and the next one before it serves anything.
    KillTwice,
    /// Browsers send what makes no sense.
    Garbage,
}

const STRIKES: [Strike; 5] =
    [Strike::Stop, Strike::End, Strike::StopAndKill, Strike::KillTwice, Strike::Garbage];
/// None of them has the system write a core file.
const SIGNALS: [Signal; 5] = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP, Signal::USR1];

#[test]
fn chaos_around_the_training_of_a_policy_changes_none_of_its_bits() {
    let flags = "--environment CartPole-v1 --batch-size 200 --iterations";
    trainings_survive(&Lab::new(), "train-policy", flags, 1000);
}

#[test]
fn chaos_around_the_evolution_of_a_controller_changes_none_of_its_bits() {
    let lab = Lab::new();
    make_world_model(&lab);
    trainings_survive(&lab, "train-controller", &format!("{CONTROLLER} --generations"), 300);
}

#[test]
fn chaos_around_a_training_in_three_dimensions_changes_none_of_its_bits() {
    let lab = Lab::new();
    let flags = "--environment Swimmer-v5 --batch-size 200 --max-steps 50 --iterations";
    let result = lab.run("train-policy", &format!("{flags} 1 --model-dir probe"));
    if !result.status.success() {
        let errors = String::from_utf8_lossy(&result.stderr);
        assert!(errors.contains("built without MuJoCo"), "{errors}");
        return;
    }
    trainings_survive(&lab, "train-policy", flags, 200);
}

#[allow(clippy::print_stdout, reason = "what many trainings went through, for --nocapture")]
fn trainings_survive(lab: &Lab, stage: &str, flags: &str, mut steps: u32) {
    let trainings = std::env::var(TRAININGS).map_or(1, |text| text.parse().expect(TRAININGS));
    for seed in 0..trainings {
        let flags = |steps: u32| {
            format!("{flags} {steps} --save-every-n-steps {} --seed {seed}", steps / 5)
        };
        let (plain, watched) = (format!("plain-{seed}"), format!("watched-{seed}"));
        let mut random = Random::derived(seed, "chaos", 0);
        let mut struck = Vec::new();
        loop {
            struck.clear();
            let training = Watched::start(lab, stage, &flags(steps), &watched);
            wreak(training, &mut random, &mut struck);
            if STRIKES.iter().all(|strike| struck.contains(strike)) {
                break;
            }
            assert!(steps < MOST_STEPS, "{steps} steps are over after {struck:?}");
            steps *= 2;
            std::fs::remove_dir_all(lab.path(&watched)).unwrap();
        }
        println!("training {seed}: {steps} steps, {} strikes: {struck:?}", struck.len());
        assert_nobody_is_left(lab);
        lab.succeed(stage, &format!("{} --model-dir {plain}", flags(steps)));
        let expected = left(lab, &plain);
        assert!(expected.iter().any(|(file, _)| file == "metrics.jsonl"), "{expected:?}");
        assert!(expected.iter().any(|(file, _)| file.ends_with(".safetensors")), "{expected:?}");
        assert_eq!(left(lab, &watched), expected);
        assert_eq!(names(lab, &watched), names(lab, &plain));
    }
}

/// Strikes until the training ends, which it must do well: each strike once, then any of them.
fn wreak(mut training: Watched<'_>, random: &mut Random, struck: &mut Vec<Strike>) {
    let mut first: Vec<Strike> = STRIKES.to_vec();
    let mut look = |storm: &mut Storm<'_, '_>| -> Option<()> {
        storm.look()?;
        loop {
            let strike = match first.len() {
                0 => STRIKES[storm.random.below(STRIKES.len())],
                more => first.swap_remove(storm.random.below(more)),
            };
            storm.strike(strike)?;
            struck.push(strike);
        }
    };
    let mut storm = Storm { training: &mut training, random, url: String::new(), browser: None };
    let over = look(&mut storm);
    assert_eq!(over, None);
    let url = std::mem::take(&mut storm.url);
    assert_eq!(training.wait().code(), Some(0));
    assert_not_served(&url);
}

/// Where something gives nothing, the training is over.
struct Storm<'a, 'lab> {
    training: &'a mut Watched<'lab>,
    random: &'a mut Random,
    url: String,
    browser: Option<Browser>,
}

impl Storm<'_, '_> {
    /// Waits for a worker, and looks at it until it plays what is new.
    fn look(&mut self) -> Option<()> {
        self.browser = None;
        let url = self.training.url()?;
        assert!(self.url.is_empty() || self.url == url, "{url} after {}", self.url);
        self.url = url;
        let browser = Browser::try_connect(&self.url).and_then(|mut browser| {
            browser.send(&frame(1, br#"{"run":0}"#))?;
            Ok(browser)
        });
        self.browser = Some(self.unless_over(browser)?);
        self.see_what_is_new()
    }

    /// Waits until the browser is shown a policy as new as the metrics are now.
    fn see_what_is_new(&mut self) -> Option<()> {
        let step = self.training.step();
        let is_new = |status: Value| status["snapshot"]["step"].as_u64().is_some_and(|s| s >= step);
        loop {
            let status = self.browser.as_mut()?.try_find("status");
            if is_new(self.unless_over(status)?) {
                return Some(());
            }
        }
    }

    fn strike(&mut self, strike: Strike) -> Option<()> {
        let worker = self.training.until(|training| training.worker(None))?;
        match strike {
            Strike::Stop => {
                send(worker, Signal::STOP);
                self.let_it_train()?;
                send(worker, Signal::CONT);
                self.see_what_is_new()?;
            }
            Strike::End => {
                send(worker, SIGNALS[self.random.below(SIGNALS.len())]);
                self.hear_the_end()?;
                self.look()?;
            }
            Strike::StopAndKill => {
                send(worker, Signal::STOP);
                self.let_it_train()?;
                send(worker, Signal::KILL);
                self.hear_the_end()?;
                self.look()?;
            }
            Strike::KillTwice => {
                send(worker, Signal::KILL);
                let next = self.training.until(|training| training.worker(Some(worker)))?;
                send(next, Signal::KILL);
                self.hear_the_end()?;
                self.hear_the_end()?;
                self.look()?;
            }
            Strike::Garbage => {
                self.send_garbage();
                self.see_what_is_new()?;
            }
        }
        Some(())
    }

    /// Waits until the training has gone on for some time, whatever its worker does.
    fn let_it_train(&mut self) -> Option<()> {
        (0..=self.random.below(20)).try_for_each(|_| self.training.advance())
    }

    fn hear_the_end(&mut self) -> Option<()> {
        self.training.hear("the plotter's worker ")?;
        self.training.advance()
    }

    /// What a browser got; nothing if the training is over, which is the only excuse.
    fn unless_over<T>(&mut self, got: io::Result<T>) -> Option<T> {
        match got {
            Ok(got) => Some(got),
            Err(error) => {
                assert!(self.training.is_complete(), "{error}");
                None
            }
        }
    }

    /// From a browser and from what is none. That they are let go is all right.
    fn send_garbage(&mut self) {
        let random = &mut *self.random;
        let mut noise =
            |length: usize| -> Vec<u8> { (0..length).map(|_| random.below(256) as u8).collect() };
        let lots = [
            frame(1, &noise(100)),
            frame(2, &noise(4096)),
            frame(1, &vec![b'['; 10 << 20]),
            frame(1, br#"{"run":1e999,"speed":"fast","pause":[],"seen":-1}"#),
            noise(1000),
            // A message of 2^63 bytes.
            [&[0x81, 0xff, 0x7f][..], &[0xff; 7]].concat(),
        ];
        let host = self.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        for bytes in lots {
            let _ = Browser::try_connect(&self.url).and_then(|mut browser| browser.send(&bytes));
            let _ = TcpStream::connect(&host).and_then(|mut stream| stream.write_all(&bytes));
        }
    }
}

/// A frame of a web socket, masked with zeros.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u64;
    let mut frame = vec![0x80 | kind];
    match payload.len() {
        short @ 0..126 => frame.push(0x80 | short as u8),
        _ => frame.extend([&[0xff][..], &length.to_be_bytes()].concat()),
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}
