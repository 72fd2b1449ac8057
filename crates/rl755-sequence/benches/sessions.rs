//! How long a training step takes, and how many steps a second trained models take by the number
//! of episodes side by side, on the CPU: `cargo bench -p rl755-sequence`, with
//! `RAYON_NUM_THREADS` for the number of threads. At full size, with fresh weights. With the argument
//! `training`, only training steps, for longer; with a model's name, only that one.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, reason = "a program to run")]

use std::time::Instant;

use burn::tensor::{Device, Distribution, Tensor};
use ndarray::Array2;
use rl755_nn::Learner;
use rl755_run::Random;
use rl755_sequence::{
    LstmNetwork, MdnRnn, SequenceBatch, SequenceModel, SequenceNetwork, Sizes, Transformer, trained,
};

const SIZES: Sizes = Sizes { latent: 32, action: 3, sequence_length: 32 };

/// Sequences in a training step.
const BATCH: usize = 32;

fn main() {
    println!("{} threads", rayon::current_num_threads());
    measure::<MdnRnn>();
    measure::<LstmNetwork>();
    measure::<Transformer>();
}

fn measure<N: SequenceNetwork>() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |argument: &str| arguments.iter().any(|a| a == argument);
    if ["mdn-rnn", "lstm", "transformer"].into_iter().any(has) && !has(N::NAME) {
        return;
    }
    let seconds = if has("training") { 20.0 } else { 2.0 };
    let [least, median] = training_step::<N>(seconds).map(|seconds| seconds * 1e3);
    println!("{}: training step {least:.1} ms at least, median {median:.1}", N::NAME);
    if has("training") {
        return;
    }
    let network = N::init(&N::Config::default(), &SIZES, &Device::flex()).unwrap();
    let model = trained(&network, SIZES, false);
    for batch in [1, 16, 64] {
        let steps = rows_per_second(&*model, batch, false);
        let dreams = rows_per_second(&*model, batch, true);
        println!("  batch {batch:2}: {steps:7.0} rows/s, {dreams:7.0} with predictions");
    }
}

/// The least and the median seconds of a training step, over `seconds`.
fn training_step<N: SequenceNetwork>(seconds: f64) -> [f64; 2] {
    let device = Device::flex();
    let init = |device: &Device| N::init(&N::Config::default(), &SIZES, device).unwrap();
    let mut learner = Learner::new(&device, 1, &N::default_optimizer(&N::Config::default()), init);
    let normal = |width: usize| {
        let shape = [BATCH, SIZES.sequence_length, width];
        Tensor::<3>::random(shape, Distribution::Normal(0.0, 1.0), learner.device())
    };
    let zeros = || Tensor::<2>::zeros([BATCH, SIZES.sequence_length], learner.device());
    let batch = SequenceBatch {
        latents: normal(SIZES.latent),
        actions: normal(SIZES.action),
        targets: normal(SIZES.latent),
        rewards: zeros(),
        terminals: zeros(),
        followed: None,
    };
    let (started, mut steps) = (Instant::now(), Vec::new());
    while steps.len() < 5 || started.elapsed().as_secs_f64() < seconds {
        let started = Instant::now();
        let step = steps.len() as u64 + 1;
        learner.step(step, step, BATCH, |network, _, _| network.losses(&batch)).unwrap();
        steps.push(started.elapsed().as_secs_f64());
    }
    steps.sort_by(f64::total_cmp);
    [steps[0], steps[steps.len() / 2]]
}

/// Rows per second over at least 128 steps and a second.
fn rows_per_second(model: &dyn SequenceModel, batch: usize, predict: bool) -> f64 {
    let mut random = Random::new(1);
    let mut normal =
        |width| Array2::from_shape_simple_fn((batch, width), || random.normal() as f32);
    let (latents, actions) = (normal(SIZES.latent), normal(SIZES.action));
    let mut randoms: Vec<Random> = (0..batch as u64).map(Random::new).collect();
    let mut session = model.session(batch);
    let mut steps = 0;
    let started = Instant::now();
    while steps < 128 || started.elapsed().as_secs_f64() < 1.0 {
        session.step(latents.view(), actions.view()).unwrap();
        if predict {
            session.predict(1.0, &mut randoms).unwrap();
        }
        steps += 1;
    }
    (steps * batch) as f64 / started.elapsed().as_secs_f64()
}
