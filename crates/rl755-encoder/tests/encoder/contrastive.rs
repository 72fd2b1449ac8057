//! SimCLR: it learns to tell frames apart, and its decoder changes nothing about that.

use burn::{
    module::Module,
    tensor::{Device, Tensor, TensorData},
};
use rl755_encoder::{
    AugmentationSettings, ConvSettings, EncoderModel, EncoderRegistry, SimClr, SimClrConfig,
    StageContext, TrainEncoderConfig,
};
use rl755_env::{ObservationRef, Space};
use rl755_nn::seeded;
use rl755_run::{Interrupt, Random, RunDir, Silent};

use crate::synthetic::{Place, frame};

#[test]
fn views_of_a_frame_are_found_among_others_after_training() {
    let place = Place::with_frames(16);
    let mut config = place.narrow("simclr", 200);
    config.model_config["latent_size"] = 8.into();
    config.model_config["channels"] = vec![8, 16].into();
    config.optimizer.learning_rate = 3e-3;
    config.training.save_every_n_steps = 200;
    config.batch_size = 32;
    let run = place.train(&config, "run");
    let results = RunDir::read(&run, "train-encoder").unwrap().results;
    let number = |name: &str| results[name].as_f64().unwrap();
    // 16 frames, 32 views: chance is 1 of 31.
    assert!(number("validation_top_1") > 0.3, "{results:?}");
    assert_eq!(number("validation_loss"), number("validation_contrastive"));
    assert!(number("validation_reconstruction") < 0.1 * (24.0 * 32.0 * 3.0), "{results:?}");
    // Latents say where the square is: frames that differ in that alone are told apart.
    let encoder = EncoderRegistry::with_builtin().load(&run, None, &Device::flex()).unwrap();
    let mut random = Random::new(4);
    let frames: Vec<u8> = (0..2).flat_map(|_| frame(&mut random)).collect();
    let latents = encoder.encode(ObservationRef::U8(&frames)).unwrap();
    assert_eq!(latents.std_dev, None);
    let distance = (&latents.mean.row(0) - &latents.mean.row(1)).mapv(|d| d * d).sum();
    assert!(distance > 1e-2, "{distance}");
}

fn model(decoder: bool, device: &Device) -> SimClr {
    let convolutions =
        ConvSettings { latent_size: 4, channels: Some(vec![4, 6]), ..Default::default() };
    let config = SimClrConfig { convolutions, decoder, hidden_size: 8, ..Default::default() };
    let space = Space::Image { height: 12, width: 14, channels: 3 };
    seeded(&Device::flex(), 1, || {
        let model = SimClr::init(&config, &space, device).unwrap();
        let zeros = Tensor::zeros([1, space.width()], device);
        // Weights are drawn when first looked at, in this order.
        model.represent(zeros);
        model
    })
}

fn frames(count: usize, device: &Device) -> Tensor<2> {
    let values: Vec<f32> = (0..count * 504).map(|i| (i * 31 % 257) as f32 / 256.0).collect();
    Tensor::from_data(TensorData::new(values, [count, 504]), device)
}

#[test]
fn the_encoder_does_not_learn_from_its_decoder() {
    let device = Device::flex().autodiff();
    let model = model(true, &device);
    let frames = frames(6, &device);
    let losses = seeded(&device, 2, || model.losses(frames.clone()));
    let value = |name: &str| {
        losses.metrics().iter().find(|(found, _)| found == name).map(|(_, value)| *value).unwrap()
    };
    assert_eq!(value("loss"), value("contrastive"));
    let reconstruction = losses.parts.iter().find(|(name, _)| *name == "reconstruction");
    let gradients = reconstruction.unwrap().1.clone().backward();
    let gradients = burn::optim::GradientsParams::from_grads(gradients, &model);
    // A linear layer and two transposed convolutions, weights and biases.
    assert_eq!(gradients.len(), 6);
    let all = seeded(&device, 2, || model.losses(frames)).total.backward();
    let all = burn::optim::GradientsParams::from_grads(all, &model);
    assert_eq!(all.len(), 6 + 4 + 2 + 4);
    assert!(
        self::model(false, &device)
            .valid()
            .reconstruct(Tensor::zeros([1, 4], &Device::flex()))
            .is_none()
    );
}

#[test]
fn one_frame_has_nothing_to_be_told_from() {
    let place = Place::with_frames(8);
    let (registry, interrupt) = (EncoderRegistry::with_builtin(), Interrupt::new());
    let (device, run) = (Device::flex(), place.path("run"));
    let context = StageContext { device: &device, progress: &Silent, interrupt: &interrupt };
    let error = |change: fn(&mut TrainEncoderConfig)| {
        let mut config = place.narrow("simclr", 2);
        change(&mut config);
        registry.train(&config, &run, false, &context).unwrap_err().to_string()
    };
    let found = error(|config| config.batch_size = 1);
    assert!(found.contains("batch_size is 1; it must be from 2 to "), "{found}");
    let found = error(|config| config.validation_observations = 1);
    assert!(found.contains("validation_observations is 1; it must be from 2 to "), "{found}");
}

#[test]
fn bad_settings_are_named() {
    let check = |config: SimClrConfig, expected: &str| {
        let space = Space::Image { height: 12, width: 14, channels: 3 };
        let error = SimClr::init(&config, &space, &Device::flex()).unwrap_err().to_string();
        assert_eq!(error, format!("config of simclr: {expected}"));
    };
    let zero = SimClrConfig { temperature: 0.0, ..Default::default() };
    check(zero, "temperature is 0; it must be above 0");
    let none = SimClrConfig { projection_size: 0, ..Default::default() };
    check(none, "projection_size is 0; it must be from 1 to 65536");
    let augmented = |augmentation| SimClrConfig { augmentation, ..Default::default() };
    let crop = AugmentationSettings { crop_area: [0.5, 0.2], ..Default::default() };
    let expected = "crop_area is [0.5, 0.2]; it must be two rising numbers above 0, up to 1";
    check(augmented(crop), expected);
    let flip = AugmentationSettings { flip_probability: f64::NAN, ..Default::default() };
    check(augmented(flip), "flip_probability is NaN; it must be from 0 to 1");
}
