//! The rate of each layer of World Models' VAE at batch 64, forward and backward, on one thread
//! and on two: `cargo bench --workspace --bench convolution`.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, reason = "a program to run")]

use std::time::{Duration, Instant};

use burn::tensor::{Device, Distribution, Tensor};
use rl755_kernels::{
    Activation, ConvOptions, Matrix, Store, conv_transpose2d, conv2d, par_multiply,
};

const BATCH: usize = 64;

/// The shortest of some repetitions, in milliseconds.
fn shortest(mut work: impl FnMut() -> Duration) -> f64 {
    (0..15).map(|_| work()).min().unwrap().as_secs_f64() * 1e3
}

fn timed<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    let started = Instant::now();
    let result = work();
    (started.elapsed(), result)
}

fn layer(name: &str, size: usize, [from, to]: [usize; 2], kernel: usize, transposed: bool) {
    let device = Device::flex().autodiff();
    let random =
        |shape: [usize; 4]| Tensor::<4>::random(shape, Distribution::Default, &device).detach();
    let x = random([BATCH, size, size, from]);
    let x = if from > 3 { x.require_grad() } else { x };
    let weight = if transposed {
        random([from, to, kernel, kernel])
    } else {
        random([to, from, kernel, kernel])
    };
    let weight = weight.require_grad();
    let bias = Tensor::<1>::zeros([to], &device).require_grad();
    let options =
        ConvOptions { stride: [2; 2], activation: Activation::Relu, ..ConvOptions::default() };
    let run = if transposed { conv_transpose2d } else { conv2d };
    let forward = || run(x.clone(), weight.clone(), Some(bias.clone()), options);
    let places = if transposed { size * size } else { forward().dims()[1..3].iter().product() };
    let flops = (2 * BATCH * places * from * to * kernel * kernel) as f64;
    let probe = forward().detach();
    let there = shortest(|| timed(forward).0);
    let back = shortest(|| {
        let loss = (forward() * probe.clone()).sum();
        timed(|| loss.backward()).0
    });
    let gradients = if from > 3 { 2.0 } else { 1.0 };
    let rate = |milliseconds: f64, times: f64| times * flops / milliseconds / 1e6;
    println!(
        "  {name}: forward {there:5.2} ms, {:3.0} GFLOP/s; backward {back:5.2} ms, {:3.0} GFLOP/s",
        rate(there, 1.0),
        rate(back, gradients)
    );
}

fn main() {
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let size = 1024;
            let (a, b) = (vec![0.5; size * size], vec![0.5; size * size]);
            let [a, b] = [&a, &b].map(|values| Matrix::new(values, [size, size]));
            let mut product = vec![0.0; size * size];
            let best = shortest(|| timed(|| par_multiply(a, b, &mut product, Store::Set)).0);
            let rate = 2.0 * (size as f64).powi(3) / best / 1e6;
            println!("{threads} threads; a product of 1024×1024: {rate:.0} GFLOP/s");
            layer("conv1", 64, [3, 32], 4, false);
            layer("conv2", 31, [32, 64], 4, false);
            layer("conv3", 14, [64, 128], 4, false);
            layer("conv4", 6, [128, 256], 4, false);
            layer("deconv1", 1, [1024, 128], 5, true);
            layer("deconv2", 5, [128, 64], 5, true);
            layer("deconv3", 13, [64, 32], 6, true);
            layer("deconv4", 30, [32, 3], 6, true);
        });
    }
}
