//! What a training can be asked for beside plain steps.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::Range;

use burn::{
    nn::{Linear, LinearConfig},
    tensor::{Device, Tensor, TensorData},
};
use rl755_nn::{
    Compute, Decay, Learner, Losses, OptimizerConfig, Schedule, dropout_mask, standard_normal,
    watch,
};

fn loss(linear: &Linear, device: &Device, part: Range<usize>) -> Losses {
    let values: Vec<f32> = part.clone().flat_map(|i| (0..6).map(move |j| (i * j) as f32)).collect();
    let x = Tensor::<2>::from_data(TensorData::new(values, [part.len(), 6]), device) * 0.05;
    let mask = TensorData::new(dropout_mask(&x.shape(), 0.4), x.dims());
    let y = linear.forward(x * Tensor::from_data(mask, device));
    let y = y.clone() + standard_normal::<2>(y.shape(), device) * 0.1;
    Losses { total: (y - 1.0).square().mean(), parts: vec![] }
}

fn learner(config: &OptimizerConfig, compute: &Compute) -> Learner<Linear> {
    Learner::new(&Device::flex(), 5, config, |device| LinearConfig::new(6, 5).init(device))
        .computing(compute, 20)
}

fn weights(model: &Linear) -> Vec<f32> {
    model.weight.val().into_data().try_into_vec().unwrap()
}

#[test]
fn several_devices_train_the_weights_that_one_trains() {
    let config = OptimizerConfig { max_gradient_norm: Some(0.5), ..OptimizerConfig::default() };
    let train = |replicas: usize| {
        let replicas = vec![Device::flex(); replicas];
        let mut learner = learner(&config, &Compute { replicas, ..Compute::default() });
        for step in 1..=20 {
            learner.step(step, step, 13, loss).unwrap();
        }
        weights(&learner.inference_model())
    };
    let alone = train(0);
    for replicas in [1, 2] {
        let found = train(replicas);
        for (found, expected) in found.iter().zip(&alone) {
            assert!((found - expected).abs() <= 1e-5 * expected.abs().max(0.1));
        }
        assert!(found == train(replicas), "not repeatable");
    }
}

#[test]
fn the_learning_rate_follows_its_schedule_and_is_logged() {
    let schedule = Schedule { warmup_steps: 4, decay: Decay::Linear { final_rate: 0.0 } };
    let config = OptimizerConfig { learning_rate: 0.1, schedule, ..OptimizerConfig::default() };
    let mut learner = learner(&config, &Compute::default());
    let mut rates = Vec::new();
    let mut before = weights(learner.model());
    for step in 1..=20 {
        let metrics = learner.step(step, step, 4, loss).unwrap();
        let (name, rate) = metrics.last().unwrap();
        assert_eq!(name, "learning_rate");
        rates.push(*rate);
        let after = weights(learner.model());
        assert_eq!(before == after, *rate == 0.0, "step {step}");
        before = after;
    }
    assert_eq!(rates[..4], [0.025, 0.05, 0.1 * 3.0 / 4.0, 0.1]);
    assert_eq!((rates[19], rates[11]), (0.0, 0.05));
}

#[test]
fn a_moving_average_is_what_others_load_and_training_goes_on_from_the_weights() {
    let config =
        OptimizerConfig { learning_rate: 0.05, ema_decay: Some(0.6), ..OptimizerConfig::default() };
    let mut whole = learner(&config, &Compute::default());
    let directory = tempfile::tempdir().unwrap();
    let mut expected = weights(whole.model());
    for step in 1..=10 {
        whole.step(step, step, 4, loss).unwrap();
        let decay = 0.6f32.min((1 + step) as f32 / (10 + step) as f32);
        for (average, weight) in expected.iter_mut().zip(weights(whole.model())) {
            *average = decay * *average + (1.0 - decay) * weight;
        }
        if step == 6 {
            whole.save(directory.path()).unwrap();
        }
    }
    for (found, expected) in weights(&whole.inference_model()).iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    assert!(weights(whole.model()) != weights(&whole.inference_model()));
    let mut parts = learner(&config, &Compute::default());
    parts.load(directory.path()).unwrap();
    for step in 7..=10 {
        parts.step(step, step, 4, loss).unwrap();
    }
    assert!(weights(parts.model()) == weights(whole.model()));
    assert!(weights(&parts.inference_model()) == weights(&whole.inference_model()));
}

#[test]
fn numeric_checks_name_the_first_bad_tensor_and_the_step() {
    let compute = Compute { check_numerics: true, ..Compute::default() };
    let mut learner = learner(&OptimizerConfig::default(), &compute);
    let bad = |linear: &Linear, device: &Device, part: Range<usize>| {
        // Finite in the loss, as nothing is made of it.
        let x = Tensor::<2>::ones([part.len(), 6], device);
        watch("the batch", &x);
        watch("hidden", &linear.forward(x).log());
        loss(linear, device, part)
    };
    let error = learner.step(9, 1, 4, bad).unwrap_err().to_string();
    assert!(error.starts_with("hidden is not finite at step 9"), "{error}");
    learner.step(10, 1, 4, loss).unwrap();
}
