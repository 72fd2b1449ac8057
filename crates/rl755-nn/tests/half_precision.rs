//! Training in half precision: steps whose gradients overflow are left out, and the loss's scale falls.
//! In a process of its own: a device has one precision.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use burn::{
    nn::{Linear, LinearConfig},
    tensor::{Device, Tensor, TensorData},
};
use rl755_nn::{Compute, Learner, Losses, OptimizerConfig, Precision, full_precision};

fn loss(linear: &Linear, device: &Device, part: std::ops::Range<usize>) -> Losses {
    let values: Vec<f32> =
        part.clone().flat_map(|i| (0..8).map(move |j| ((i * 7 + j * 3) % 11) as f32)).collect();
    let x = Tensor::<2>::from_data(TensorData::new(values, [part.len(), 8]), device);
    Losses { total: full_precision(linear.forward(x) - 3.0).square().mean(), parts: vec![] }
}

#[test]
fn steps_that_overflow_are_left_out_until_the_scale_fits() {
    let device = Device::flex();
    Precision::F16.configure(&device).unwrap();
    let compute = Compute { precision: Precision::F16, ..Compute::default() };
    let config = OptimizerConfig { learning_rate: 1e-2, ..OptimizerConfig::default() };
    let new = || {
        Learner::<Linear>::new(&device, 2, &config, |device| LinearConfig::new(8, 4).init(device))
            .computing(&compute, 200)
    };
    let weights = |learner: &Learner<Linear>| -> Vec<f32> {
        learner.model().weight.val().into_data().try_into_vec().unwrap()
    };
    let mut learner = new();
    let (mut losses, mut scales) = (Vec::new(), Vec::new());
    for step in 1..=200 {
        let before = weights(&learner);
        let metrics = learner.step(step, step, 32, loss).unwrap();
        let ((_, loss), (name, scale)) = (&metrics[0], metrics.last().unwrap());
        assert_eq!(name, "loss_scale");
        let left_out = metrics.iter().all(|(name, _)| name != "gradient_norm");
        assert_eq!(left_out, weights(&learner) == before, "step {step}");
        losses.push(*loss);
        scales.push(*scale);
    }
    assert_eq!(scales[..2], [32_768.0, 16_384.0]);
    assert!(scales[199] < 16_384.0 && scales[199] == scales[150], "{scales:?}");
    assert!(losses[199] < 0.05 * losses[0], "{losses:?}");
    // On several devices they are left out likewise; each part's gradients are half as large.
    let several = Compute { replicas: vec![device.clone()], ..compute.clone() };
    let mut several = new().computing(&several, 200);
    let scale = |metrics: Vec<(String, f64)>| metrics.last().unwrap().1;
    let found: Vec<f64> =
        (1..=20).map(|step| scale(several.step(step, step, 32, loss).unwrap())).collect();
    assert_eq!(found[..3], scales[..3]);
    assert!(found[19] < 16_384.0 && found[19] == found[10], "{found:?}");
    // The scale is part of the state.
    let directory = tempfile::tempdir().unwrap();
    learner.save(directory.path()).unwrap();
    let mut again = new();
    again.load(directory.path()).unwrap();
    assert_eq!(again.step(201, 1, 32, loss).unwrap(), learner.step(201, 1, 32, loss).unwrap());
}
