//! Sequence models learn in bfloat16. In a process of its own: a device has one precision.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use burn::tensor::{Device, Tensor, TensorData};
use rl755_nn::{Compute, Learner, Precision};
use rl755_sequence::{MdnRnn, SequenceBatch, SequenceNetwork, Sizes, Transformer};

const SIZES: Sizes = Sizes { latent: 3, action: 2, sequence_length: 5 };

fn tensor<const D: usize>(shape: [usize; D], factor: usize, device: &Device) -> Tensor<D> {
    let count = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..count).map(|i| ((i * factor) % 7) as f32 / 7.0 - 0.5).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn check<N: SequenceNetwork>(settings: serde_json::Value) {
    let device = Device::flex();
    let compute = Compute { precision: Precision::Bf16, ..Compute::default() };
    let config: N::Config = serde_json::from_value(settings).unwrap();
    let init = |device: &Device| N::init(&config, &SIZES, device).unwrap();
    let mut learner =
        Learner::new(&device, 1, &N::default_optimizer(), init).computing(&compute, 40);
    let loss = |network: &N, device: &Device, part: std::ops::Range<usize>| {
        let rows = part.len();
        network.losses(&SequenceBatch {
            latents: tensor([rows, 5, 3], 3, device),
            actions: tensor([rows, 5, 2], 5, device),
            targets: tensor([rows, 5, 3], 2, device),
            rewards: tensor([rows, 5], 1, device),
            terminals: tensor([rows, 5], 7, device),
            followed: None,
        })
    };
    let losses: Vec<f64> = (1..=40).map(|s| learner.step(s, s, 4, loss).unwrap()[0].1).collect();
    assert!(losses[39] < losses[0] - 0.1 * losses[0].abs(), "{}: {losses:?}", N::NAME);
    learner.checked_model().unwrap();
}

#[test]
fn sequence_models_learn_in_16_bits() {
    Precision::Bf16.configure(&Device::flex()).unwrap();
    check::<MdnRnn>(
        serde_json::json!({ "hidden_size": 16, "mixtures": 2, "predict_reward": true, "predict_done": true }),
    );
    check::<Transformer>(serde_json::json!({
        "layers": 2, "hidden_size": 16, "heads": 2, "feed_forward_size": 24, "context_slide": 2,
    }));
}
