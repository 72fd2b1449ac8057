//! The encoders beside PyTorch's layers with the same weights: golden files, which
//! `cargo xtask golden` makes again from `tests/golden/*_by_pytorch.py`.

use burn::tensor::{Device, Tensor, TensorData};
use rl755_env::Space;
use rl755_nn::Losses;

use crate::{
    Autoencoder, ConvSettings, EncoderModel, FrameVae, FrameVaeConfig, Mlp, MlpConfig, Vae,
    VaeConfig, VariationalSettings, nt_xent::nt_xent,
};

#[path = "../../rl755-nn/tests/pytorch/golden_file.rs"]
mod golden_file;

use golden_file::{GoldenFile, values};

/// Frames of the `numbers` of `golden_file.py`, `[batch, height · width · 3]`.
fn frames(batch: usize, [height, width]: [usize; 2], device: &Device) -> Tensor<2> {
    let width = height * width * 3;
    let byte = |i: usize| (31 * i * i + 7 * i + i / 97) % 256;
    let values: Vec<f32> = (0..batch * width).map(|i| byte(i) as f32 / 255.0).collect();
    Tensor::from_data(TensorData::new(values, [batch, width]), device)
}

/// Checks an encoder of 3 latent numbers for two frames of that size: what it represents and
/// reconstructs, through tensors and without, and losses with their gradients.
fn check<M: EncoderModel>(
    name: &str,
    config: &M::Config,
    [height, width]: [usize; 2],
    losses: impl Fn(&M, Tensor<2>, &GoldenFile) -> Losses,
) {
    let file = GoldenFile::read(env!("CARGO_MANIFEST_DIR"), name);
    let device = Device::flex().autodiff();
    let input = Space::Image { height, width, channels: 3 };
    let mut model = M::init(config, &input, &device).unwrap();
    file.give_weights(&mut model);

    let frames = frames(2, [height, width], &device);
    let latents = model.represent(frames.clone());
    let reconstruction = values(model.reconstruct(latents.mean.clone()).unwrap());
    file.check_tensor("mean", latents.mean);
    let is_stochastic = latents.std_dev.is_some();
    if let Some(std_dev) = latents.std_dev {
        file.check_tensor("std_dev", std_dev);
    }
    let kept: Vec<f32> = reconstruction.into_iter().step_by(41).collect();
    file.check("reconstruction", &kept);

    let losses = losses(&model, frames.clone(), &file);
    file.check_tensor("loss", losses.total.clone());
    for (name, part) in losses.parts {
        if name == "kl" {
            file.check_tensor(name, part);
        }
    }
    file.check_gradients(&model, &losses.total);

    let rows = values(frames);
    let [mut mean, mut std_dev] = [vec![0.0; 6], vec![0.0; 6]];
    let std_dev_wanted = is_stochastic.then_some(&mut std_dev[..]);
    model.on_cpu().unwrap().encode(&rows, &mut mean, std_dev_wanted);
    file.check("mean", &mean);
    if is_stochastic {
        file.check("std_dev", &std_dev);
    }
}

/// `vae-64` or `vae-96`.
fn check_vae<const SIZE: usize>(beta: f64, free_nats: f64) {
    let config = VaeConfig::<SIZE> { latent_size: 3, channels: [4, 8, 8, 4], beta, free_nats };
    let losses = |model: &Vae<SIZE>, frames: Tensor<2>, file: &GoldenFile| {
        let noise = file.input("noise", &frames.device());
        model.network.losses_with(frames, noise)
    };
    check(&format!("vae-{SIZE}"), &config, [SIZE, SIZE], losses);
}

/// What `any_size_by_pytorch.py` has.
fn any_size() -> ConvSettings {
    ConvSettings {
        latent_size: 3,
        channels: Some(vec![4, 6]),
        kernel_sizes: vec![5, 4],
        ..ConvSettings::default()
    }
}

#[test]
fn vae_64_gives_what_pytorch_gives() {
    check_vae::<64>(1.5, 0.1);
}

#[test]
fn vae_96_gives_what_pytorch_gives() {
    check_vae::<96>(4.0, 0.0);
}

#[test]
fn vae_of_any_size_gives_what_pytorch_gives() {
    let variational =
        VariationalSettings { beta: 0.7, free_nats: 0.0, ..VariationalSettings::default() };
    let config = FrameVaeConfig { convolutions: any_size(), variational };
    check("vae", &config, [21, 28], |model: &FrameVae, frames, file| {
        let noise = file.input("noise", &frames.device());
        let posterior = model.posterior(frames.clone());
        let reconstruct = |latents| model.reconstruct(latents).unwrap();
        model.variational.losses_with(noise, frames, posterior, reconstruct)
    });
}

#[test]
fn autoencoder_gives_what_pytorch_gives() {
    check("autoencoder", &any_size(), [21, 28], |model: &Autoencoder, frames, _| {
        model.losses(frames)
    });
}

#[test]
fn mlp_gives_what_pytorch_gives() {
    let file = GoldenFile::read(env!("CARGO_MANIFEST_DIR"), "mlp");
    let device = Device::flex().autodiff();
    let config = MlpConfig { latent_size: Some(3), hidden: vec![8, 6], ..MlpConfig::default() };
    let input = Space::Box { low: vec![f32::NEG_INFINITY; 5], high: vec![f32::INFINITY; 5] };
    let mut model = Mlp::init(&config, &input, &device).unwrap();
    file.give_weights(&mut model);
    let observations: Tensor<2> = file.input("observations", &device);
    let mean = model.represent(observations.clone()).mean;
    file.check_tensor("mean", mean.clone());
    file.check_tensor("reconstruction", model.reconstruct(mean).unwrap());
    let loss = model.losses(observations).total;
    file.check_tensor("loss", loss.clone());
    file.check_gradients(&model, &loss);
}

#[test]
fn contrastive_loss_is_what_pytorch_gives() {
    let file = GoldenFile::read(env!("CARGO_MANIFEST_DIR"), "simclr-loss");
    let views = file.input::<2>("views", &Device::flex().autodiff()).require_grad();
    let contrast = nt_xent(views.clone(), 0.5);
    let gradients = contrast.loss.clone().backward();
    file.check_tensor("loss", contrast.loss);
    file.check_tensor("top_1", contrast.top_1);
    file.check_tensor("gradient", views.grad(&gradients).unwrap());
}
