//! How fast models are trained and encode on the CPU, and how many parameters they have.
//!
//! ```text
//! cargo build --release --workspace --examples
//! target/release/examples/model_speed parameters
//! target/release/examples/model_speed rounds JOB THREADS
//! ```
//!
//! `parameters` prints a table of all models at their defaults. `cargo xtask bench models` runs the
//! `rounds`; JOB is `train-vae-64`, `encode-1`, `encode-64`, `train-transformer`, `train-mdn-rnn` or
//! `matrix-product`. Once `{"ready": true}` is printed, each line of stdin is a number of seconds,
//! answered by a line `{"steps": …, "seconds": …, "resets": …}`, in which steps are frames, or
//! floating-point operations for `matrix-product`.

#![expect(clippy::print_stdout, reason = "a program to be run in a terminal")]

mod encoding;
mod matrix_product;
mod training;

use std::{env::args, error::Error, io::stdin, time::Instant};

use rl755_sequence::{MdnRnn, Transformer};
use rl755_tests::parameters;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Work that can be done again and again.
trait Job {
    /// Does some of it, a fraction of a second's; gives how many frames or operations that were.
    fn work(&mut self) -> Outcome<u64>;
}

fn main() -> Outcome<()> {
    let words: Vec<String> = args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["parameters"] => {
            print!("{}", parameters::table());
            Ok(())
        }
        ["rounds", job, threads] => {
            rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build_global()?;
            let mut job: Box<dyn Job> = match job {
                "train-vae-64" => Box::new(training::VaeTraining::new()?),
                "encode-1" => Box::new(encoding::Encoding::new(1)?),
                "encode-64" => Box::new(encoding::Encoding::new(64)?),
                "train-transformer" => Box::new(training::SequenceTraining::<Transformer>::new()?),
                "train-mdn-rnn" => Box::new(training::SequenceTraining::<MdnRnn>::new()?),
                "matrix-product" => Box::new(matrix_product::MatrixProduct::new()),
                other => return Err(format!("no job is called `{other}`").into()),
            };
            rounds(job.as_mut())
        }
        _ => Err("see the beginning of tests/examples/model_speed/main.rs".into()),
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
        println!("{{\"steps\": {steps}, \"seconds\": {elapsed}, \"resets\": 0}}");
    }
    Ok(())
}
