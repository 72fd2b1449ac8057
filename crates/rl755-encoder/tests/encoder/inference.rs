//! Loaded encoders: the same for a row whatever its batch, and the same as the model.

use burn::tensor::{Device, Tensor, TensorData};
use rl755_encoder::{
    Autoencoder, ConvSettings, EncoderModel, EncoderRegistry, FrameVae, FrameVaeConfig,
    ObservationEncoder, Representation, Spread, Vae64, Vae64Config, Vae96, Vae96Config,
    VariationalSettings,
};
use rl755_env::{ObservationBuffer, ObservationRef, Space};
use rl755_nn::seeded;
use rl755_run::Random;

use crate::synthetic::{Place, frame};

fn frames(count: usize) -> Vec<u8> {
    let mut random = Random::new(5);
    (0..count).flat_map(|_| frame(&mut random)).collect()
}

const WIDTH: usize = 24 * 32 * 3;

/// A trained encoder encodes each row as if it were alone, and in any number of threads.
fn check_rows(encoder: &dyn ObservationEncoder, frames: &[u8]) {
    let rows = |representation: &Representation, from: usize, to: usize| {
        let slice = ndarray::s![from..to, ..];
        let std_dev = representation.std_dev.as_ref().map(|s| s.slice(slice).to_owned());
        (representation.mean.slice(slice).to_owned(), std_dev)
    };
    let all = encoder.encode(ObservationRef::U8(frames)).unwrap();
    let count = frames.len() / WIDTH;
    for (from, to) in [(0, 1), (count - 1, count), (3, 5), (0, 8), (1, 10), (0, count - 1)] {
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let some = ObservationRef::U8(&frames[from * WIDTH..to * WIDTH]);
            let some = pool.install(|| encoder.encode(some)).unwrap();
            assert!(rows(&some, 0, to - from) == rows(&all, from, to), "{from}..{to}, {threads}");
        }
    }
}

#[test]
fn rows_do_not_depend_on_their_batch_or_on_threads() {
    let place = Place::with_frames(8);
    for model in ["vae-64", "vae-96", "vae", "autoencoder", "simclr"] {
        let run = place.train(&place.narrow(model, 2), model);
        let registry = EncoderRegistry::with_builtin();
        let encoder = registry.load(&run, None, &Device::flex()).unwrap();
        check_rows(&*encoder, &frames(70));
    }
}

/// Full-size networks: the one without tensors gives what burn gives.
fn check_cpu<M: EncoderModel>(config: &M::Config, height: usize, width: usize) {
    let device = Device::flex();
    let space = Space::Image { height, width, channels: 3 };
    let count = 9;
    let mut random = Random::new(6);
    let rows: Vec<f32> = (0..count * space.width()).map(|_| random.unit() as f32).collect();
    let data = TensorData::new(rows.clone(), [count, space.width()]);
    let (model, latents) = seeded(&device, 4, || {
        let model = M::init(config, &space, &device).unwrap().valid();
        let latents = model.represent(Tensor::from_data(data, &device));
        (model, latents)
    });
    let latent = model.latent_size();
    let (mut mean, mut std_dev) = (vec![0.0; count * latent], vec![0.0; count * latent]);
    let cpu = model.on_cpu().unwrap();
    assert_eq!(cpu.is_stochastic(), latents.std_dev.is_some());
    cpu.encode(&rows, &mut mean, cpu.is_stochastic().then_some(&mut std_dev));
    let means = (mean, latents.mean);
    let pairs = std::iter::once(means).chain(latents.std_dev.map(|expected| (std_dev, expected)));
    for (found, expected) in pairs {
        let expected: Vec<f32> = expected.into_data().try_into_vec().unwrap();
        let spread = expected.iter().fold(0.0f32, |most, v| most.max(v.abs()));
        assert!(spread > 0.1, "a trivial test");
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-4 * spread.max(1.0), "{found} {expected}");
        }
    }
}

#[test]
fn the_encoder_without_tensors_agrees_with_the_model() {
    check_cpu::<Vae64>(&Vae64Config::default(), 64, 64);
    check_cpu::<Vae96>(&Vae96Config::default(), 96, 96);
    check_cpu::<Autoencoder>(&ConvSettings::default(), 60, 45);
    let kernels = ConvSettings {
        channels: Some(vec![8, 16, 24]),
        kernel_sizes: vec![5, 3, 4],
        strides: vec![3, 1, 2],
        ..ConvSettings::default()
    };
    for std_dev in [Spread::LogVariance, Spread::Softplus] {
        let config = FrameVaeConfig {
            convolutions: kernels.clone(),
            variational: VariationalSettings { std_dev, ..Default::default() },
        };
        check_cpu::<FrameVae>(&config, 33, 70);
    }
}

#[test]
fn latents_decode_to_observations_of_the_environment() {
    let place = Place::with_frames(8);
    let run = place.train(&place.narrow("vae-64", 2), "run");
    let registry = EncoderRegistry::with_builtin();
    let encoder = registry.load(&run, None, &Device::flex()).unwrap();
    let latents = ndarray::Array2::from_shape_fn((3, 3), |(i, j)| (i + j) as f32);
    let decoded = encoder.decode(latents.view()).unwrap().unwrap();
    let ObservationBuffer::U8(bytes) = decoded else { panic!("frames are bytes") };
    assert_eq!(bytes.len(), 3 * WIDTH);
    let alone = encoder.decode(latents.slice(ndarray::s![1..2, ..])).unwrap().unwrap();
    assert_eq!(alone, ObservationBuffer::U8(bytes[WIDTH..2 * WIDTH].to_vec()));
    let error = encoder.decode(ndarray::Array2::zeros((1, 4)).view()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the batch holds latents of 4 numbers, the encoder needs latents of 3"
    );
}

#[test]
fn wrong_batches_are_refused_and_empty_ones_are_not() {
    let place = Place::with_frames(8);
    let run = place.train(&place.narrow("vae-64", 2), "run");
    let registry = EncoderRegistry::with_builtin();
    let encoder = registry.load(&run, None, &Device::flex()).unwrap();
    let error = |observations| encoder.encode(observations).unwrap_err().to_string();
    let expected = "the encoder needs a multiple of 2304 u8";
    assert_eq!(
        error(ObservationRef::U8(&[0; 2305])),
        format!("the batch holds 2305 u8, {expected}")
    );
    assert_eq!(
        error(ObservationRef::F32(&[0.0; 2304])),
        format!("the batch holds 2304 f32, {expected}")
    );
    let empty = encoder.encode(ObservationRef::U8(&[])).unwrap();
    assert_eq!(empty.mean.dim(), (0, 3));
    assert!(encoder.decode(ndarray::Array2::zeros((0, 3)).view()).unwrap().is_some());
}

#[test]
fn checkpoints_are_loaded_by_number_and_damage_is_named() {
    let place = Place::with_frames(8);
    let run = place.train(&place.narrow("vae-64", 4), "run");
    let registry = EncoderRegistry::with_builtin();
    let device = Device::flex();
    let mean = |checkpoint| {
        let encoder = registry.load(&run, checkpoint, &device).unwrap();
        encoder.encode(ObservationRef::U8(&frames(2))).unwrap().mean
    };
    assert_eq!(mean(None), mean(Some(2)));
    assert_ne!(mean(None), mean(Some(1)));
    let error = |checkpoint| match registry.load(&run, checkpoint, &device) {
        Ok(_) => panic!("it should be refused"),
        Err(error) => error.to_string(),
    };
    assert!(error(Some(7)).ends_with("has no checkpoint model-007"));
    let weights = run.join("checkpoints/model-002/model.safetensors");
    let bytes = std::fs::read(&weights).unwrap();
    std::fs::write(&weights, &bytes[..bytes.len() / 2]).unwrap();
    assert!(error(None).contains("model.safetensors"));
    let Err(none) = registry.load(&place.path("none"), None, &device) else { panic!() };
    assert!(none.to_string().contains("is no run directory"));
}

#[test]
fn untrained_encoders_are_always_the_same() {
    let registry = EncoderRegistry::with_builtin();
    let space = Space::Image { height: 24, width: 32, channels: 3 };
    let config = serde_json::json!({ "channels": [4, 4, 4, 4] });
    let mean = || {
        let encoder = registry.untrained("vae-64", &config, &space, &Device::flex()).unwrap();
        encoder.encode(ObservationRef::U8(&frames(2))).unwrap().mean
    };
    let first = mean();
    assert_eq!(first, mean());
    assert_ne!(first.row(0), first.row(1));
}
