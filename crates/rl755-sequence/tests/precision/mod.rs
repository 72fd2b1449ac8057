//! Learning in 16 bits, for tests that are a process each: a device has one precision.

use burn::tensor::{Device, Tensor, TensorData};
use rl755_nn::{Compute, Learner, Precision};
use rl755_sequence::{
    Infilling, LstmNetwork, MdnRnn, Retrieval, SequenceBatch, SequenceNetwork, Sizes, Transformer,
};
use serde_json::json;

const SIZES: Sizes = Sizes { latent: 3, action: 2, sequence_length: 6 };

fn tensor<const D: usize>(shape: [usize; D], factor: usize, device: &Device) -> Tensor<D> {
    let count = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..count).map(|i| ((i * factor) % 7) as f32 / 7.0 - 0.5).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn check<N: SequenceNetwork>(precision: Precision, settings: serde_json::Value) {
    let device = Device::flex();
    let compute = Compute { precision, ..Compute::default() };
    let config: N::Config = serde_json::from_value(settings).unwrap();
    let init = |device: &Device| N::init(&config, &SIZES, device).unwrap();
    let mut learner =
        Learner::new(&device, 1, &N::default_optimizer(&config), init).computing(&compute, 40);
    let loss = |network: &N, device: &Device, part: std::ops::Range<usize>| {
        let rows = part.len();
        network.losses(&SequenceBatch {
            latents: tensor([rows, 6, 3], 3, device),
            actions: tensor([rows, 6, 2], 5, device),
            targets: tensor([rows, 6, 3], 2, device),
            rewards: tensor([rows, 6], 1, device),
            terminals: tensor([rows, 6], 7, device),
            followed: None,
        })
    };
    // The same noise at every step.
    let losses: Vec<f64> = (1..=40).map(|s| learner.step(s, 1, 4, loss).unwrap()[0].1).collect();
    assert!(losses[39] < losses[0] - 0.1 * losses[0].abs(), "{}: {losses:?}", N::NAME);
    learner.checked_model().unwrap();
}

/// Checks that every model learns in `precision`.
pub(crate) fn every_model_learns(precision: Precision) {
    precision.configure(&Device::flex()).unwrap();
    check::<MdnRnn>(
        precision,
        json!({ "hidden_size": 16, "mixtures": 2, "predict_reward": true, "predict_done": true }),
    );
    check::<LstmNetwork>(precision, json!({ "hidden_size": 16 }));
    let transformer = json!({
        "layers": 2, "hidden_size": 16, "heads": 2, "feed_forward_size": 24, "context_slide": 1,
    });
    check::<Transformer>(precision, transformer.clone());
    check::<Retrieval>(
        precision,
        json!({
            "context": 2, "window": 2, "stride": 1, "top_k": 2, "key_size": 4,
            "transformer": transformer,
        }),
    );
    for gan_weight in [0.0, 0.1] {
        check::<Infilling>(
            precision,
            json!({
                "channels": 16, "depth": 1, "longest_span": 2, "noise_size": 2,
                "gan_weight": gan_weight,
            }),
        );
    }
}
