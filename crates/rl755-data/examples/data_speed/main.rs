//! How fast rollouts are collected, written, verified and sampled, and the memory that takes.
//!
//! ```text
//! cargo run --release -p rl755-data --example data_speed -- make DIR ROLLOUTS STEPS
//! cargo run --release -p rl755-data --example data_speed -- memory DATASET
//! cargo run --release -p rl755-data --example data_speed -- rounds JOB THREADS PATH
//! ```
//!
//! `make` collects CarRacing into DIR and packs it twice: DIR/png, and a fifth of it as DIR/tensor.
//! `cargo xtask bench data` runs the others. Of `rounds`, JOB is `step`, `collect`, `write-png`,
//! `write-tensor`, `read`, `verify` or `sample`; PATH is where to write, or a dataset. Once
//! `{"ready": true}` is printed, each line of stdin is a number of seconds, answered by a line
//! `{"steps": …, "seconds": …, "resets": …}`, in which steps are frames, or bytes for `read` and
//! `verify`.

#![expect(clippy::print_stdout, reason = "a program to be run in a terminal")]

mod collecting;
mod making;
mod memory;
mod reading;
mod sampling;
mod writing;

use std::{env::args, error::Error, io::stdin, path::Path, time::Instant};

use rl755_data::FrameFormat;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Work that can be done again and again.
trait Job {
    /// Does some of it, a fraction of a second's; gives how many frames or bytes that were.
    fn work(&mut self) -> Outcome<u64>;

    /// Tidies up, which is not measured.
    fn tidy(&mut self) -> Outcome<()> {
        Ok(())
    }
}

fn main() -> Outcome<()> {
    let words: Vec<String> = args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["make", directory, rollouts, steps] => {
            making::make(Path::new(directory), rollouts.parse()?, steps.parse()?)
        }
        ["memory", dataset] => memory::report(Path::new(dataset)),
        ["rounds", job, threads, path] => {
            let (threads, path) = (threads.parse()?, Path::new(path));
            rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
            let mut job: Box<dyn Job> = match job {
                "step" => Box::new(collecting::Stepping::new(threads)?),
                "collect" => Box::new(collecting::Collecting::new(threads, path)?),
                "write-png" => Box::new(writing::Writing::new(path, FrameFormat::Png)?),
                "write-tensor" => Box::new(writing::Writing::new(path, FrameFormat::Tensor)?),
                "read" => Box::new(reading::Reading::new(threads, path)?),
                "verify" => Box::new(reading::Verifying::new(threads, path)?),
                "sample" => Box::new(sampling::Sampling::new(threads, path)?),
                other => return Err(format!("no job is called `{other}`").into()),
            };
            rounds(job.as_mut())
        }
        _ => Err("see the beginning of examples/data_speed/main.rs".into()),
    }
}

fn rounds(job: &mut dyn Job) -> Outcome<()> {
    println!("{{\"ready\": true}}");
    for line in stdin().lines() {
        let seconds: f64 = line?.trim().parse()?;
        let (mut steps, start) = (0, Instant::now());
        let elapsed = loop {
            steps += job.work()?;
            let elapsed = start.elapsed().as_secs_f64();
            if elapsed >= seconds {
                break elapsed;
            }
        };
        job.tidy()?;
        println!("{{\"steps\": {steps}, \"seconds\": {elapsed}, \"resets\": 0}}");
    }
    Ok(())
}
