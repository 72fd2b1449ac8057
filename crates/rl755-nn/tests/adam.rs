//! Steps of Adam are PyTorch's.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use burn::{
    module::Module,
    nn::{Linear, LinearConfig},
    tensor::{Device, Tensor, TensorData},
};
use rl755_nn::{Learner, Losses, OptimizerConfig, load_weights};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as f32).collect()
}

fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 2e-6 * expected.abs().max(0.1), "{found} {expected}");
    }
}

/// The numbers called `name` in a safetensors file.
fn saved(bytes: &[u8], name: &str) -> Vec<f32> {
    let file = safetensors::SafeTensors::deserialize(bytes).unwrap();
    let data = file.tensor(name).unwrap();
    data.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

#[test]
fn clipped_steps_are_pytorchs() {
    let golden: Value =
        serde_json::from_str(include_str!("golden/optimizer_by_pytorch.json")).unwrap();
    let golden = &golden["adam"];
    let config = OptimizerConfig {
        learning_rate: 0.02,
        beta_1: 0.8,
        beta_2: 0.98,
        epsilon: 1e-7,
        max_gradient_norm: Some(1.0),
        ..OptimizerConfig::default()
    };
    let directory = tempfile::tempdir().unwrap();
    let set = |weight: &Value, bias: &Value, device: &Device| {
        let mut linear: Linear = LinearConfig::new(3, 4).init(device);
        let tensor = TensorData::new(numbers(weight), [3, 4]);
        linear.weight = burn::module::Param::from_data(tensor, device);
        let tensor = TensorData::new(numbers(bias), [4]);
        linear.bias = Some(burn::module::Param::from_data(tensor, device));
        linear
    };
    let start = &golden["start"];
    let mut learner = Learner::new(&Device::flex(), 0, &config, |device| {
        set(&start["weight"], &start["bias"], device)
    });
    for (index, expected) in golden["steps"].as_array().unwrap().iter().enumerate() {
        // A loss with these gradients.
        let loss = |linear: &Linear, device: &Device, _| {
            let weight = TensorData::new(numbers(&expected["weight_gradient"]), [3, 4]);
            let bias = TensorData::new(numbers(&expected["bias_gradient"]), [4]);
            let total = (linear.weight.val() * Tensor::from_data(weight, device)).sum()
                + (linear.bias.as_ref().unwrap().val() * Tensor::from_data(bias, device)).sum();
            Losses { total, parts: vec![] }
        };
        let metrics = learner.step(index as u64 + 1, 0, 1, loss).unwrap();
        let (name, norm) = &metrics[1];
        assert_eq!(name, "gradient_norm");
        assert!((norm / expected["norm"].as_f64().unwrap() - 1.0).abs() < 1e-6);
        let linear = learner.inference_model();
        let values = |tensor: Tensor<1>| -> Vec<f32> { tensor.into_data().try_into_vec().unwrap() };
        assert_close(&values(linear.weight.val().reshape([-1])), &numbers(&expected["weight"]));
        assert_close(&values(linear.bias.unwrap().val()), &numbers(&expected["bias"]));
    }
    learner.save(directory.path()).unwrap();
    let state = std::fs::read(directory.path().join("optimizer.safetensors")).unwrap();
    assert_close(&saved(&state, "weight.exp_avg"), &numbers(&golden["moments"]["exp_avg"]));
    let squares = saved(&state, "weight.exp_avg_sq");
    assert_close(&squares, &numbers(&golden["moments"]["exp_avg_sq"]));
}

#[test]
fn state_of_another_architecture_is_refused() {
    let config = OptimizerConfig::default();
    let learner = |width: usize| {
        let init = |device: &Device| LinearConfig::new(3, width).init(device);
        Learner::<Linear>::new(&Device::flex(), 0, &config, init)
    };
    let loss = |linear: &Linear, device: &Device, _: std::ops::Range<usize>| Losses {
        total: linear.forward(Tensor::<2>::ones([1, 3], device)).sum(),
        parts: vec![],
    };
    let directory = tempfile::tempdir().unwrap();
    let mut four = learner(4);
    four.step(1, 0, 1, loss).unwrap();
    four.save(directory.path()).unwrap();
    let error = |learner: &mut Learner<Linear>| learner.load(directory.path()).unwrap_err();
    // The right weights with the wrong state.
    rl755_nn::save_weights(
        &learner(5).inference_model(),
        &directory.path().join("model.safetensors"),
    )
    .unwrap();
    let text = error(&mut learner(5)).to_string();
    assert!(text.contains("optimizer.safetensors: weight.exp_avg is F32 [3, 4]"), "{text}");
    rl755_nn::save_weights(&four.inference_model(), &directory.path().join("model.safetensors"))
        .unwrap();
    let state = directory.path().join("optimizer.safetensors");
    std::fs::write(&state, &std::fs::read(&state).unwrap()[..100]).unwrap();
    assert!(error(&mut learner(4)).to_string().contains("optimizer.safetensors"));
    let mut model: Linear = LinearConfig::new(3, 4).init(&Device::flex());
    load_weights(&mut model, &directory.path().join("model.safetensors")).unwrap();
    assert_eq!(model.num_params(), 16);
}
