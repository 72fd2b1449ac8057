//! How many of CarRacing's frames are encoded a second, and how long a training step takes, on
//! the CPU: `cargo bench -p rl755-encoder`. At full size, with fresh weights.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, reason = "a program to run")]

use std::time::Instant;

use burn::tensor::{Device, Distribution, Tensor};
use rl755_encoder::{EncoderModel, EncoderRegistry, Vae64, Vae96};
use rl755_env::{ObservationRef, Space};
use rl755_nn::{Learner, OptimizerConfig};

/// The shortest of some repetitions, in seconds: others may use the machine.
fn shortest(mut work: impl FnMut()) -> f64 {
    let mut seconds = || {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64()
    };
    (0..15).map(|_| seconds()).fold(f64::INFINITY, f64::min)
}

fn measure<M: EncoderModel>(threads: usize) {
    let device = Device::flex();
    let space = Space::Image { height: 96, width: 96, channels: 3 };
    let config = M::Config::default();
    let input = M::input_space(&config, &space).unwrap();
    let json = serde_json::to_value(&config).unwrap();
    let encoder =
        EncoderRegistry::with_builtin().untrained(M::NAME, &json, &space, &device).unwrap();
    let model = M::init(&config, &input, &device).unwrap().valid();
    for batch in [1, 16, 64] {
        let frames: Vec<u8> = (0..batch * space.width()).map(|i| (i % 251) as u8).collect();
        let own = shortest(|| {
            encoder.encode(ObservationRef::U8(&frames)).unwrap();
        });
        let rows = Tensor::random([batch, input.width()], Distribution::Default, &device);
        let burn = shortest(|| {
            model.represent(rows.clone()).mean.into_data();
        });
        println!(
            "{}, {threads} threads, batch {batch:2}: {:5.0} frames/s (through burn {:4.0})",
            M::NAME,
            batch as f64 / own,
            batch as f64 / burn
        );
    }
    let mut learner = Learner::new(&device, 1, &OptimizerConfig::default(), |device| {
        M::init(&config, &input, device).unwrap()
    });
    let seconds = shortest(|| {
        learner
            .step(1, 1, 64, |model, device, _| {
                model.losses(Tensor::random([64, input.width()], Distribution::Default, device))
            })
            .unwrap();
    });
    println!("{}, {threads} threads, a training step of 64: {:.0} ms", M::NAME, seconds * 1e3);
}

fn main() {
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            measure::<Vae64>(threads);
            measure::<Vae96>(threads);
        });
    }
}
