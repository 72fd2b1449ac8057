//! Frames of any height, width and channels, as they are, resized, or grey.

use burn::tensor::Device;
use rl755_encoder::{
    Autoencoder, ConvSettings, EncoderModel, EncoderRegistry, FrameVae, Mlp, SimClr, Vae64, Vae96,
};
use rl755_env::{ObservationBuffer, ObservationRef, Space};
use rl755_nn::num_parameters;
use serde_json::json;

use crate::synthetic::{Place, frame};

fn image(height: usize, width: usize, channels: usize) -> Space {
    Space::Image { height, width, channels }
}

#[test]
fn frames_of_any_shape_are_encoded_and_painted() {
    let registry = EncoderRegistry::with_builtin();
    for (space, config) in [
        (image(4, 4, 1), json!({})),
        (image(5, 37, 2), json!({})),
        (image(47, 33, 3), json!({ "grayscale": true })),
        (image(47, 33, 3), json!({ "grayscale": true, "input_size": [20, 30] })),
        (image(47, 33, 1), json!({ "grayscale": true })),
        (image(30, 20, 12), json!({ "input_size": [31, 17], "channels": [8] })),
        (image(2, 3, 3), json!({ "kernel_sizes": [2], "channels": [8] })),
        (image(40, 40, 3), json!({ "kernel_sizes": [8, 4], "strides": [4, 2] })),
    ] {
        for model in ["autoencoder", "simclr", "vae"] {
            let encoder = registry.untrained(model, &config, &space, &Device::flex()).unwrap();
            let frames: Vec<u8> = (0..3 * space.width()).map(|i| (i * i % 251) as u8).collect();
            let latents = encoder.encode(ObservationRef::U8(&frames)).unwrap().mean;
            assert_eq!(latents.dim(), (3, 32), "{space}");
            assert_ne!(latents.row(0), latents.row(1), "{space}");
            let decoded = encoder.decode(latents.view()).unwrap().unwrap();
            let ObservationBuffer::U8(bytes) = decoded else { panic!("frames are bytes") };
            assert_eq!(bytes.len(), frames.len(), "{space}");
            if config["grayscale"] == true && space.shape()[2] == 3 {
                assert!(bytes.chunks(3).all(|pixel| pixel[0] == pixel[1] && pixel[1] == pixel[2]));
            }
        }
    }
}

#[test]
fn gray_frames_are_what_the_wrapper_makes_of_them() {
    // The same encoder sees the same luminance, whether the frame or the encoder makes it.
    let registry = EncoderRegistry::with_builtin();
    let encode = |channels: usize, frame: &[u8]| {
        let config = json!({ "grayscale": true });
        let space = image(8, 8, channels);
        let encoder = registry.untrained("vae", &config, &space, &Device::flex()).unwrap();
        encoder.encode(ObservationRef::U8(frame)).unwrap().mean
    };
    let (red, green, blue) = (200.0, 100.0, 40.0);
    let level = 0.2125 * red + 0.7154 * green + 0.0721 * blue; // 116.9
    let colours = [200, 100, 40].repeat(64);
    let [lower, upper] = [level as u8, level as u8 + 1].map(|level| encode(1, &[level; 64]));
    let found = encode(3, &colours);
    let share = f64::fract(level) as f32;
    for ((found, lower), upper) in found.iter().zip(&lower).zip(&upper) {
        // The network is nearly linear between two neighbouring levels.
        let expected = lower + share * (upper - lower);
        assert!((found - expected).abs() < 0.05 * (upper - lower).abs() + 1e-5, "{found}");
    }
}

#[test]
fn layers_have_the_parameters_of_their_settings() {
    let settings = ConvSettings::default();
    let device = Device::flex();
    let conv = |from: usize, to: usize, kernel: usize| kernel * kernel * from * to + to;
    let linear = |from: usize, to: usize| from * to + to;
    let encoder = conv(3, 32, 4) + conv(32, 64, 4) + conv(64, 128, 4) + conv(128, 256, 4);
    // 64, 31, 14, 6, 2: an odd remainder makes a kernel one larger.
    let decoder = conv(256, 128, 4) + conv(128, 64, 4) + conv(64, 32, 5) + conv(32, 3, 4);
    let model = Autoencoder::init(&settings, &image(64, 64, 3), &device).unwrap();
    let expected = encoder + linear(1024, 32) + linear(32, 1024) + decoder;
    assert_eq!(num_parameters(&model), expected);
    let model = FrameVae::init(&Default::default(), &image(64, 64, 3), &device).unwrap();
    assert_eq!(num_parameters(&model), expected + linear(1024, 32));
}

#[test]
fn a_trained_encoder_tells_frames_apart_and_paints_them() {
    let place = Place::with_frames(12);
    for (model, grayscale) in [("autoencoder", false), ("vae", true)] {
        let mut config = place.narrow(model, 300);
        config.optimizer.learning_rate = 3e-3;
        config.model_config["grayscale"] = grayscale.into();
        config.training.save_every_n_steps = 300;
        let run = place.train(&config, model);
        let registry = EncoderRegistry::with_builtin();
        let encoder = registry.load(&run, None, &Device::flex()).unwrap();
        let mut random = rl755_run::Random::new(8);
        let frames: Vec<Vec<u8>> = (0..20).map(|_| frame(&mut random)).collect();
        let latents = encoder.encode(ObservationRef::U8(&frames.concat())).unwrap().mean;
        let ObservationBuffer::U8(painted) = encoder.decode(latents.view()).unwrap().unwrap()
        else {
            panic!("frames are bytes")
        };
        let mean =
            |values: &[u8]| values.iter().map(|&v| f64::from(v)).sum::<f64>() / values.len() as f64;
        // Bright frames are painted bright.
        let pairs: Vec<_> = frames
            .iter()
            .zip(painted.chunks(frames[0].len()))
            .map(|(a, b)| (mean(a), mean(b)))
            .collect();
        let centre = |pick: fn(&(f64, f64)) -> f64| pairs.iter().map(pick).sum::<f64>() / 20.0;
        let (a, b) = (centre(|p| p.0), centre(|p| p.1));
        let moment = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>();
        let correlation = moment(&|p| (p.0 - a) * (p.1 - b))
            / (moment(&|p| (p.0 - a).powi(2)) * moment(&|p| (p.1 - b).powi(2))).sqrt();
        assert!(correlation > 0.8, "{model}: {correlation}");
    }
}

#[test]
fn unknown_settings_are_named_with_the_known_ones() {
    let registry = EncoderRegistry::with_builtin();
    let config = json!({ "latent_size": 3, "chanels": [4] });
    let Err(error) = registry.untrained("vae", &config, &image(64, 64, 3), &Device::flex()) else {
        panic!("it should be refused")
    };
    let expected = "config of vae: unknown field `chanels`, expected one of `beta`, `channels`, \
                    `free_nats`, `grayscale`, `input_size`, `kernel_sizes`, `latent_size`, \
                    `std_dev`, `strides`";
    assert_eq!(error.to_string(), expected);
}

/// The numbers of parameters with the defaults, for frames of each size or vectors of each width.
fn parameters<M: EncoderModel>(spaces: &[Space]) -> (&'static str, Vec<usize>) {
    let config = M::Config::default();
    let count = |space: &Space| {
        let input = M::input_space(&config, space).unwrap();
        num_parameters(&M::init(&config, &input, &Device::flex()).unwrap())
    };
    (M::NAME, spaces.iter().map(count).collect())
}

#[test]
fn the_documented_numbers_of_parameters_are_true() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/encoders.md");
    let text = std::fs::read_to_string(path).unwrap();
    let frames = [image(64, 64, 3), image(96, 96, 3)];
    let vectors = [4, 17].map(|n| Space::Box { low: vec![0.0; n], high: vec![1.0; n] });
    for (name, counts) in [
        parameters::<Vae64>(&frames[..1]),
        parameters::<Vae96>(&frames[..1]),
        parameters::<FrameVae>(&frames),
        parameters::<Autoencoder>(&frames),
        parameters::<SimClr>(&frames),
        parameters::<Mlp>(&vectors),
    ] {
        let row = text.lines().find(|line| line.starts_with(&format!("| `{name}` | "))).unwrap();
        for count in counts {
            let digits = count.to_string();
            let groups: Vec<&str> = digits
                .as_bytes()
                .rchunks(3)
                .rev()
                .map(|group| std::str::from_utf8(group).unwrap())
                .collect();
            let grouped = groups.join(",");
            assert!(row.contains(&grouped), "{name} has {grouped} parameters: {row}");
        }
    }
}

#[test]
fn models_and_batches_too_large_for_memory_are_refused() {
    let registry = EncoderRegistry::with_builtin();
    let vector = Space::Box { low: vec![0.0; 4], high: vec![1.0; 4] };
    let wide = json!([65_536, 65_536, 65_536, 65_536]);
    for (name, config, space) in [
        ("vae-64", json!({ "channels": wide }), image(64, 64, 3)),
        ("vae-96", json!({ "channels": wide }), image(64, 64, 3)),
        ("vae", json!({ "channels": [65_536, 65_536] }), image(64, 64, 3)),
        ("autoencoder", json!({ "latent_size": 65_536, "channels": [256] }), image(512, 512, 3)),
        ("simclr", json!({ "hidden_size": 65_536, "projection_size": 65_536 }), image(64, 64, 3)),
        ("mlp", json!({ "hidden": [65_536, 65_536] }), vector),
    ] {
        let error = registry.untrained(name, &config, &space, &Device::flex()).err().unwrap();
        assert!(error.to_string().contains("1000000000 are allowed"), "{name}: {error}");
    }
    let channels = [6000, 1].repeat(5);
    let numbers = json!({ "channels": channels, "kernel_sizes": [1], "strides": [1] });
    let error = registry.untrained("vae", &numbers, &image(400, 400, 3), &Device::flex());
    let error = error.err().unwrap().to_string();
    assert!(error.contains("numbers for one observation"), "{error}");

    let place = Place::with_frames(8);
    let (interrupt, device) = (rl755_run::Interrupt::new(), Device::flex());
    let context = rl755_encoder::StageContext {
        device: &device,
        progress: &rl755_run::Silent,
        interrupt: &interrupt,
    };
    for model in ["vae", "simclr", "vae-64"] {
        let mut config = place.narrow(model, 2);
        config.batch_size = 1 << 40;
        let error = registry.train(&config, &place.path(model), false, &context).unwrap_err();
        assert!(error.to_string().starts_with("batch_size is 1099511627776;"), "{error}");
    }
}
