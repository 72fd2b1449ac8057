//! Training in bfloat16 with weights of 32 bits. In a process of its own: a device has one precision.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use burn::{
    nn::{Linear, LinearConfig},
    tensor::{DType, Device, Tensor, TensorData},
};
use rl755_nn::{
    Compute, Learner, Losses, OptimizerConfig, Precision, full_precision, standard_normal,
};

/// Half of the examples' numbers, in the second half; there is noise on the input.
fn loss(linear: &Linear, device: &Device, part: std::ops::Range<usize>) -> Losses {
    let value = |i: usize, j: usize| ((i * 7 + j * 3) % 11) as f32 / 11.0;
    let rows = |width: usize, scale: f32| {
        let values = part.clone().flat_map(|i| (0..width).map(move |j| scale * value(i, j)));
        let data = TensorData::new(values.collect::<Vec<_>>(), [part.len(), width]);
        Tensor::<2>::from_data(data, device)
    };
    let x = rows(8, 1.0);
    let noise = standard_normal::<2>(x.shape(), device) * 0.01;
    let errors = linear.forward(x + noise) - rows(4, 0.5);
    assert_eq!(errors.dtype(), DType::BF16);
    Losses { total: full_precision(errors).square().mean(), parts: vec![] }
}

#[test]
fn weights_learn_in_32_bits_from_passes_in_16() {
    let device = Device::flex();
    Precision::Bf16.configure(&device).unwrap();
    let error = Precision::F16.configure(&device);
    assert!(error.is_err());
    let compute = Compute { precision: Precision::Bf16, ..Compute::default() };
    let config = OptimizerConfig { learning_rate: 3e-3, ..OptimizerConfig::default() };
    let new = || {
        let init = |device: &Device| LinearConfig::new(8, 4).init(device);
        Learner::<Linear>::new(&device, 2, &config, init).computing(&compute, 400)
    };
    let mut learner = new();
    let run = |learner: &mut Learner<Linear>, steps: std::ops::RangeInclusive<u64>| {
        steps.map(|step| learner.step(step, step, 32, loss).unwrap()[0].1).last().unwrap()
    };
    let first = run(&mut learner, 1..=1);
    let directory = tempfile::tempdir().unwrap();
    run(&mut learner, 2..=200);
    learner.save(directory.path()).unwrap();
    let last = run(&mut learner, 201..=400);
    assert!(last < 0.05 * first, "{first} {last}");
    assert_eq!(learner.model().weight.val().dtype(), DType::F32);
    assert_eq!(learner.inference_model().weight.val().dtype(), DType::BF16);
    // Steps are smaller than what 16 bits can tell apart, and a checkpoint keeps all 32.
    let mut again = new();
    again.load(directory.path()).unwrap();
    assert_eq!(run(&mut again, 201..=400), last);
    let values = |learner: &Learner<Linear>| -> Vec<f32> {
        learner.model().weight.val().into_data().try_into_vec().unwrap()
    };
    assert!(values(&again) == values(&learner));
}
