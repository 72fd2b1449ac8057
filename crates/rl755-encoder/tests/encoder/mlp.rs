//! `mlp`: vectors of any scale are normalised, encoded and given back.

use std::fs;

use burn::{
    module::Module,
    tensor::{Device, Tensor, TensorData},
};
use rl755_encoder::{EncoderModel, EncoderRegistry, Mlp, MlpConfig, Normalization, Spread};
use rl755_env::{ObservationBuffer, ObservationRef, Space};
use rl755_nn::seeded;
use rl755_run::{Interrupt, Random, RunDir};
use serde_json::json;

use crate::synthetic::{Place, train, weights};

/// Rows of the synthetic plane: a, b, a + b, a - b.
fn plane(rows: usize) -> Vec<f32> {
    let mut random = Random::new(9);
    (0..rows)
        .flat_map(|_| {
            let (a, b) = (random.normal() as f32, random.normal() as f32);
            [a, b, a + b, a - b]
        })
        .collect()
}

#[test]
fn a_plane_is_found_and_rows_do_not_depend_on_their_batch() {
    let place = Place::with_vectors(30);
    for (name, settings) in [
        ("deterministic", json!({ "latent_size": 2, "hidden": [32] })),
        (
            "variational",
            json!({ "latent_size": 2, "hidden": [32], "variational": true, "beta": 0.01 }),
        ),
        ("symlog", json!({ "latent_size": 2, "hidden": [32], "normalize": "symlog" })),
        ("linear", json!({ "latent_size": 2, "hidden": [] })),
    ] {
        let mut config = place.config("mlp", 400);
        config.model_config = settings;
        config.optimizer.learning_rate = if name == "linear" { 2e-2 } else { 3e-3 };
        config.batch_size = 64;
        config.training.save_every_n_steps = 400;
        let run = place.train(&config, name);
        let registry = EncoderRegistry::with_builtin();
        let encoder = registry.load(&run, None, &Device::flex()).unwrap();
        let rows = plane(50);
        let encoded = encoder.encode(ObservationRef::F32(&rows)).unwrap();
        assert_eq!(encoded.std_dev.is_some(), name == "variational");
        let ObservationBuffer::F32(found) = encoder.decode(encoded.mean.view()).unwrap().unwrap()
        else {
            panic!("vectors are floats")
        };
        let error: f32 = rows.iter().zip(&found).map(|(a, b)| (a - b).powi(2)).sum();
        let size: f32 = rows.iter().map(|v| v * v).sum();
        assert!(error < 0.1 * size, "{name}: {error} of {size}");
        for (from, to) in [(0, 1), (7, 10), (49, 50)] {
            let some = encoder.encode(ObservationRef::F32(&rows[from * 4..to * 4])).unwrap();
            assert!(some.mean == encoded.mean.slice(ndarray::s![from..to, ..]), "{name}");
        }
    }
}

#[test]
fn training_goes_on_with_the_same_bits_and_with_any_number_of_threads() {
    let place = Place::with_vectors(12);
    let mut config = place.config("mlp", 6);
    let whole = place.train(&config, "whole");
    config.training.train_steps = 6;
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let run = pool.install(|| place.train(&config, &format!("run-{threads}")));
        assert!(weights(&run, 3) == weights(&whole, 3));
    }
    // How long it trains does not change what is measured of the data.
    let short = place.train(&place.config("mlp", 2), "short");
    assert!(weights(&short, 1) == weights(&whole, 1));
    // What was measured of the data is in the checkpoint: it is not measured anew.
    let registry = EncoderRegistry::with_builtin();
    let parts = place.path("parts");
    let interrupt = Interrupt::new();
    let raise = crate::training::RaiseAt { step: 3, interrupt: interrupt.clone() };
    let device = Device::flex();
    let context =
        rl755_encoder::StageContext { device: &device, progress: &raise, interrupt: &interrupt };
    registry.train(&config, &parts, true, &context).unwrap();
    train(&registry, &config, &parts, &Interrupt::new());
    assert!(weights(&parts, 3) == weights(&whole, 3));
    let metrics = |run: &std::path::Path| fs::read(run.join("metrics.jsonl")).unwrap();
    assert!(metrics(&parts) == metrics(&whole));
    let results = RunDir::read(&whole, "train-encoder").unwrap().results;
    // 4 numbers, 128, 128, 4 latents and back; means and deviations of 4.
    let parameters = 2 * ((4 * 128 + 128) + (128 * 128 + 128)) + 2 * (128 * 4 + 4) + 8;
    assert_eq!(results["parameters"], parameters);
}

fn model(config: &MlpConfig, width: usize) -> Mlp {
    let device = Device::flex();
    let space = Space::Box { low: vec![-1.0; width], high: vec![1.0; width] };
    seeded(&device, 1, || {
        let model = Mlp::init(config, &space, &device).unwrap();
        model.represent(Tensor::zeros([1, width], &device));
        model
    })
}

#[test]
fn standardized_observations_do_not_depend_on_their_units() {
    let config = MlpConfig::default();
    let rows = plane(100);
    let scaled: Vec<f32> = rows.iter().map(|v| 1000.0 * v + 30.0).collect();
    let latents = |rows: &[f32]| -> Vec<f32> {
        let mut model = model(&config, 4);
        model.fit(rows);
        let rows = Tensor::from_data(TensorData::new(rows.to_vec(), [100, 4]), &Device::flex());
        model.represent(rows).mean.into_data().try_into_vec().unwrap()
    };
    for (a, b) in latents(&rows).iter().zip(latents(&scaled)) {
        assert!((a - b).abs() < 1e-3, "{a} {b}");
    }
    // A value that never changes does no harm.
    let mut constant = model(&config, 4);
    constant.fit(&[3.0; 40]);
    let row =
        Tensor::from_data(TensorData::new(vec![3.0f32, 3.0, 3.5, 1e9], [1, 4]), &Device::flex());
    let latents: Vec<f32> = constant.represent(row).mean.into_data().try_into_vec().unwrap();
    assert!(latents.iter().all(|v| v.abs() < 100.0), "{latents:?}");
}

#[test]
fn the_encoder_without_tensors_agrees_with_the_model() {
    for normalize in [Normalization::Standardize, Normalization::Symlog, Normalization::None] {
        for (variational, std_dev) in
            [(false, Spread::Softplus), (true, Spread::Softplus), (true, Spread::LogVariance)]
        {
            let posterior = rl755_encoder::VariationalSettings { std_dev, ..Default::default() };
            let config = MlpConfig { normalize, variational, posterior, ..Default::default() };
            let mut model = model(&config, 4);
            let rows = plane(20);
            model.fit(&rows);
            let data = TensorData::new(rows.clone(), [20, 4]);
            let expected = model.represent(Tensor::from_data(data, &Device::flex()));
            let (mut mean, mut std_dev) = (vec![0.0; 80], vec![0.0; 80]);
            let cpu = model.valid().on_cpu().unwrap();
            cpu.encode(&rows, &mut mean, variational.then_some(&mut std_dev));
            let mut pairs = vec![(mean, expected.mean)];
            pairs.extend(expected.std_dev.map(|expected| (std_dev, expected)));
            for (found, expected) in pairs {
                let expected: Vec<f32> = expected.into_data().try_into_vec().unwrap();
                for (found, expected) in found.iter().zip(expected) {
                    assert!((found - expected).abs() < 1e-5, "{found} {expected}");
                }
            }
        }
    }
}

#[test]
fn bad_settings_and_frames_are_named() {
    let registry = EncoderRegistry::with_builtin();
    let check = |config: serde_json::Value, space: Space, expected: &str| {
        let Err(error) = registry.untrained("mlp", &config, &space, &Device::flex()) else {
            panic!("it should be refused")
        };
        assert!(error.to_string().contains(expected), "{error}");
    };
    let vectors = || Space::Box { low: vec![0.0; 4], high: vec![1.0; 4] };
    check(json!({ "latent_size": 0 }), vectors(), "latent_size is 0; it must be from 1 to 65536");
    check(json!({ "hidden": [8, 0] }), vectors(), "hidden is [8, 0]");
    check(json!({ "beta": -1.0 }), vectors(), "beta is -1; it must be at least 0");
    check(json!({ "normalise": "symlog" }), vectors(), "unknown field `normalise`");
    check(json!({ "normalize": "batch" }), vectors(), "unknown variant `batch`");
    let frames = Space::Image { height: 8, width: 8, channels: 3 };
    check(json!({}), frames, "mlp takes vectors (frames: vae, autoencoder or simclr), not Box");
}
