//! Networks and losses are the papers'.

use burn::tensor::{Device, Distribution, Tensor};
use rl755_encoder::{EncoderModel, EncoderRegistry, Vae64, Vae64Config, Vae96, Vae96Config};
use rl755_env::Space;
use rl755_nn::{num_parameters, seeded, standard_normal};

fn image(size: usize) -> Space {
    Space::Image { height: size, width: size, channels: 3 }
}

#[test]
fn the_papers_vae_has_the_papers_number_of_parameters() {
    let model = Vae64::init(&Vae64Config::default(), &image(64), &Device::flex()).unwrap();
    assert_eq!(num_parameters(&model), 4_348_547);
}

#[test]
fn the_original_vae_has_the_parameters_of_its_layers() {
    let model = Vae96::init(&Vae96Config::default(), &image(96), &Device::flex()).unwrap();
    let conv = |from: usize, to: usize, kernel: usize| kernel * kernel * from * to + to;
    let convs = conv(3, 32, 6) + conv(32, 64, 4) + conv(64, 128, 4) + conv(128, 256, 4);
    let linears = 1024 * 64 + 64 + 32 * 1024 + 1024;
    let deconvs = conv(1024, 128, 5) + conv(128, 64, 5) + conv(64, 32, 6) + conv(32, 3, 9);
    assert_eq!(num_parameters(&model), convs + linears + deconvs);
}

/// What the loss is by its definition, from the model's own means, deviations and reconstruction.
fn check<M: EncoderModel>(config: &M::Config, space: &Space, beta: f64, floor: f64) {
    let device = Device::flex();
    let (model, x) = seeded(&device, 1, || {
        let x = Tensor::<2>::random([3, space.width()], Distribution::Default, &device);
        let model = M::init(config, space, &device).unwrap();
        // Weights are drawn when first looked at.
        model.represent(x.clone());
        (model, x)
    });
    let rows = |tensor: Tensor<2>| -> Vec<Vec<f64>> {
        let width = tensor.dims()[1];
        let values: Vec<f32> = tensor.into_data().try_into_vec().unwrap();
        values.chunks(width).map(|row| row.iter().map(|&v| f64::from(v)).collect()).collect()
    };
    let losses = seeded(&device, 2, || model.losses(x.clone()).metrics());
    let losses: std::collections::BTreeMap<_, _> = losses.into_iter().collect();
    let latents = model.represent(x.clone());
    let (mean, std_dev) = (latents.mean, latents.std_dev.unwrap());
    let noise = seeded(&device, 2, || standard_normal(mean.shape(), &device));
    let z = mean.clone() + std_dev.clone() * noise;
    let reconstruction = rows(model.reconstruct(z).unwrap());
    let errors = rows(x)
        .into_iter()
        .zip(reconstruction)
        .map(|(x, y)| -> f64 { x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum() });
    let error = errors.sum::<f64>() / 3.0;
    let kls: Vec<f64> = rows(mean)
        .iter()
        .zip(rows(std_dev))
        .map(|(mean, std_dev)| {
            let terms = mean.iter().zip(std_dev);
            terms.map(|(m, s)| 0.5 * (m * m + s * s - 1.0) - s.ln()).sum()
        })
        .collect();
    let floored = kls.iter().map(|kl| kl.max(floor)).sum::<f64>() / 3.0;
    let near = |name: &str, expected: f64| {
        let found = losses[name];
        assert!(
            (found - expected).abs() < 1e-4 * expected.abs() + 1e-5,
            "{name} {found} {expected}"
        );
    };
    near("reconstruction", error);
    near("kl", kls.iter().sum::<f64>() / 3.0);
    near("loss", error + beta * floored);
}

#[test]
fn losses_are_those_of_their_definition() {
    let config = Vae64Config { latent_size: 5, channels: [4; 4], beta: 0.7, free_nats: 0.5 };
    check::<Vae64>(&config, &image(64), 0.7, 2.5);
    check::<Vae64>(&Vae64Config { free_nats: 0.0, ..config }, &image(64), 0.7, 0.0);
    let config = Vae96Config { latent_size: 5, channels: [4; 4], beta: 2.0, free_nats: 0.0 };
    check::<Vae96>(&config, &image(96), 2.0, 0.0);
}

#[test]
fn bad_configs_and_spaces_are_named() {
    let registry = EncoderRegistry::with_builtin();
    assert_eq!(registry.default_config("vae-96").unwrap()["free_nats"], 0.0);
    let device = Device::flex();
    let error = |config: Vae64Config, space: Space| {
        Vae64::init(&config, &space, &device).unwrap_err().to_string()
    };
    let zero = Vae64Config { latent_size: 0, ..Default::default() };
    assert_eq!(
        error(zero, image(64)),
        "config of vae-64: latent_size is 0; it must be from 1 to 65536"
    );
    let nan = Vae64Config { beta: f64::NAN, ..Default::default() };
    assert!(error(nan, image(64)).contains("beta is NaN"));
    let vectors = Space::Box { low: vec![0.0; 4], high: vec![1.0; 4] };
    assert_eq!(
        error(Vae64Config::default(), vectors),
        "vae-64 takes frames, not Box([0, 0, 0, 0], [1, 1, 1, 1])"
    );
    assert!(error(Vae64Config::default(), image(96)).contains("(64, 64, 3)"));
}
