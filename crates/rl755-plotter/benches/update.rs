//! What an update costs the training, beyond a copy of the parameters, whatever the worker does.
//!
//! ```text
//! cargo bench -p rl755-plotter --bench update
//! ```
#![expect(clippy::print_stdout, reason = "its table is for people")]

use std::{
    hint::black_box,
    process::{Command, ExitCode},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rl755_env::{EnvRegistry, EnvSpec, ObservationRef};
use rl755_plotter::{
    Actor, ActorError, ActorFactory, Event, Plotter, PlotterConfig, Subject, WORKER_ARGUMENT,
    WorkerCommand, worker_main,
};
use serde_json::Value;

/// Of the two-layer policy for Swimmer, and of a world model's.
const PARAMETERS: [usize; 2] = [1386, 1_000_000];
/// For each state and size.
const UPDATES: usize = 2000;
/// Between updates, as between the iterations of a quick training.
const PAUSE: Duration = Duration::from_micros(500);

/// Always does the same.
struct Still;

impl Actor for Still {
    fn load(&mut self, _: &[f32]) -> Result<(), ActorError> {
        Ok(())
    }

    fn begin(&mut self, _: u64) {}

    fn act(&mut self, _: ObservationRef<'_>, _: &mut [f32]) -> Result<(), ActorError> {
        Ok(())
    }
}

struct Stills;

impl ActorFactory for Stills {
    fn make(&self, _: &EnvSpec, _: &Value) -> Result<Box<dyn Actor>, ActorError> {
        Ok(Box::new(Still))
    }
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(WORKER_ARGUMENT) => worker_main(&EnvRegistry::with_builtin(), &Stills),
        Some("deaf") => loop {
            thread::park();
        },
        _ => {
            measure();
            ExitCode::SUCCESS
        }
    }
}

fn measure() {
    println!("microseconds of {UPDATES} updates, one every {PAUSE:?}");
    println!("{:>12} {:>18} {:>8} {:>8} {:>8}", "parameters", "worker", "median", "99 %", "most");
    for parameters in PARAMETERS {
        let snapshot = vec![0.5; parameters];
        let mut copy = snapshot.clone();
        print(
            parameters,
            "none: bare copy",
            |_| {},
            |_| copy.copy_from_slice(black_box(&snapshot)),
        );
        for (state, argument, signal) in [
            ("running", WORKER_ARGUMENT, None),
            ("stopped", WORKER_ARGUMENT, Some("-STOP")),
            ("reads nothing", "deaf", None),
            ("cannot be started", "", None),
            ("killed each 100", WORKER_ARGUMENT, Some("-KILL")),
        ] {
            let (sender, events) = mpsc::channel();
            let config = PlotterConfig {
                worker: WorkerCommand {
                    program: match argument {
                        "" => "/nowhere/worker".into(),
                        _ => WorkerCommand::default().program,
                    },
                    arguments: vec![argument.into()],
                },
                on_event: std::sync::Arc::new(move |event| {
                    if let Event::Ready { process, .. } = event {
                        let _ = sender.send(process);
                    }
                }),
                ..PlotterConfig::default()
            };
            let environment = "CartPole-v1".into();
            let subject = Subject { environment, actor: Value::Null, parameters };
            let plotter = Plotter::start(config, subject);
            let mut worker = None;
            if argument == WORKER_ARGUMENT {
                worker = events.recv().ok();
            }
            let send = |worker: Option<u32>| {
                if let (Some(signal), Some(worker)) = (signal, worker) {
                    let arguments = [signal.to_owned(), worker.to_string()];
                    let _ = Command::new("kill").args(arguments).status();
                }
            };
            send(worker);
            let between = |update| {
                if signal == Some("-KILL") && update % 100 == 0 {
                    send(events.try_iter().last());
                }
            };
            print(parameters, state, between, |step| plotter.update(step as u64, &snapshot));
            plotter.close();
        }
    }
}

fn print(
    parameters: usize,
    state: &str,
    mut between: impl FnMut(usize),
    mut update: impl FnMut(usize),
) {
    let mut times: Vec<f64> = (0..UPDATES)
        .map(|number| {
            // As far apart as the updates of a fast training; the pause is not timed.
            thread::sleep(PAUSE);
            between(number);
            let began = Instant::now();
            update(number);
            1e6 * began.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let [median, late] = [times[UPDATES / 2], times[UPDATES * 99 / 100]];
    let most = times[UPDATES - 1];
    println!("{parameters:>12} {state:>18} {median:>8.1} {late:>8.1} {most:>8.1}");
}
