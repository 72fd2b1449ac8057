//! How many frames a second are encoded, and how long a training step takes, on the CPU.
//!
//! `cargo bench -p rl755-encoder`, at full size with fresh weights.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

use burn::tensor::{Device, Distribution, Tensor, TensorData};
use rayon::prelude::*;
use rl755_encoder::{EncoderModel, Vae64, Vae64Config, Vae96, Vae96Config};
use rl755_env::Space;
use rl755_nn::{Learner, OptimizerConfig};

/// The median of some repetitions, in seconds.
fn median(mut work: impl FnMut()) -> f64 {
    work();
    let mut seconds: Vec<f64> = (0..7)
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[3]
}

fn measure<M: EncoderModel>(config: &M::Config, size: usize, threads: usize) {
    let device = Device::flex();
    let space = Space::Image { height: size, width: size, channels: 3 };
    let model = M::init(config, &space, &device).unwrap().valid();
    let frozen = model.on_cpu().unwrap();
    for batch in [1, 16, 64] {
        let rows: Vec<f32> = (0..batch * space.width()).map(|i| (i % 251) as f32 / 251.0).collect();
        let latent = model.latent_size();
        let (mut mean, mut std_dev) = (vec![0.0; batch * latent], vec![0.0; batch * latent]);
        let chunk = batch.div_ceil(threads).min(8);
        let own = median(|| {
            let means = mean.par_chunks_mut(chunk * latent);
            let chunks = means.zip(std_dev.par_chunks_mut(chunk * latent));
            chunks
                .zip(rows.par_chunks(chunk * space.width()))
                .for_each(|((mean, std_dev), rows)| frozen.encode(rows, mean, Some(std_dev)));
        });
        let burn = median(|| {
            let data = TensorData::new(rows.clone(), [batch, space.width()]);
            model.represent(Tensor::from_data(data, &device)).mean.into_data();
        });
        let rate = |seconds: f64| batch as f64 / seconds;
        println!(
            "{:7} {threads} threads, batch {batch:2}: {:5.0} frames/s, burn {:5.0}",
            M::NAME,
            rate(own),
            rate(burn)
        );
    }
    let config = OptimizerConfig::default();
    let mut learner = Learner::new(&device, 1, &config, |device| {
        M::init(&M::Config::default(), &space, device).unwrap()
    });
    let seconds = median(|| {
        learner
            .step(1, 1, |model, device| {
                model.losses(Tensor::random([64, space.width()], Distribution::Default, device))
            })
            .unwrap();
    });
    println!("{:7} {threads} threads, a training step of 64: {:.0} ms", M::NAME, seconds * 1e3);
}

fn main() {
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            measure::<Vae64>(&Vae64Config::default(), 64, threads);
            measure::<Vae96>(&Vae96Config::default(), 96, threads);
        });
    }
}
