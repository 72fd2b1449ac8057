//! The VAE learns in bfloat16. In a process of its own: a device has one precision.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use burn::tensor::{Device, Tensor, TensorData};
use rl755_encoder::{EncoderModel, FrameVae};
use rl755_env::Space;
use rl755_nn::{Compute, Learner, OptimizerConfig, Precision};

const SIZE: usize = 16;

/// The frame of that number: bright on the left of an edge, dark on its right.
fn frame(number: usize) -> impl Iterator<Item = f32> {
    (0..SIZE * SIZE).map(move |i| if i % SIZE < 3 + number % 10 { 1.0 } else { 0.0 })
}

#[test]
fn the_vae_learns_in_16_bits() {
    let device = Device::flex();
    Precision::Bf16.configure(&device).unwrap();
    let compute = Compute { precision: Precision::Bf16, ..Compute::default() };
    let settings = serde_json::json!({ "latent_size": 2, "channels": [8, 16] });
    let config: <FrameVae as EncoderModel>::Config = serde_json::from_value(settings).unwrap();
    let space = Space::Image { height: SIZE, width: SIZE, channels: 1 };
    let optimizer = OptimizerConfig { learning_rate: 3e-3, ..OptimizerConfig::default() };
    let init = |device: &Device| FrameVae::init(&config, &space, device).unwrap();
    let mut learner = Learner::new(&device, 1, &optimizer, init).computing(&compute, 150);
    let loss = |model: &FrameVae, device: &Device, part: std::ops::Range<usize>| {
        let rows = part.len();
        let frames = TensorData::new(part.flat_map(frame).collect::<Vec<_>>(), [rows, SIZE * SIZE]);
        model.losses(Tensor::from_data(frames, device))
    };
    let losses: Vec<f64> =
        (1..=150).map(|step| learner.step(step, step, 20, loss).unwrap()[0].1).collect();
    // Whoever always gives the mean frame has an error of p (1 - p) for a pixel that is bright in a
    // share p of the frames.
    let shares =
        (0..SIZE * SIZE).map(|i| (0..10).filter(|n| i % SIZE < 3 + n).count() as f64 / 10.0);
    let of_the_mean: f64 = shares.map(|p| p * (1.0 - p)).sum();
    let last = losses[140..].iter().sum::<f64>() / 10.0;
    assert!(last < 0.5 * of_the_mean, "{last} for {of_the_mean}; {losses:?}");
    learner.checked_model().unwrap();
}
