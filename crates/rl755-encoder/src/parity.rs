//! The VAEs beside PyTorch's layers with the same weights: golden files, which
//! `cargo xtask golden vae_by_pytorch` makes again.

use burn::tensor::{Device, Tensor, TensorData};
use rl755_env::Space;

use crate::{EncoderModel, Vae, VaeConfig};

#[path = "../../rl755-nn/tests/pytorch/golden_file.rs"]
mod golden_file;

use golden_file::{GoldenFile, values};

/// The frames of `golden_file.py`, `[batch, size · size · 3]`.
fn frames(batch: usize, size: usize, device: &Device) -> Tensor<2> {
    let width = size * size * 3;
    let byte = |i: usize| (31 * i * i + 7 * i + i / 97) % 256;
    let values: Vec<f32> = (0..batch * width).map(|i| byte(i) as f32 / 255.0).collect();
    Tensor::from_data(TensorData::new(values, [batch, width]), device)
}

fn check<const SIZE: usize>(beta: f64, free_nats: f64) {
    let name = format!("vae-{SIZE}");
    let file = GoldenFile::read(env!("CARGO_MANIFEST_DIR"), &name);
    let device = Device::flex().autodiff();
    let config = VaeConfig::<SIZE> { latent_size: 3, channels: [4, 8, 8, 4], beta, free_nats };
    let input = Space::Image { height: SIZE, width: SIZE, channels: 3 };
    let mut model = Vae::<SIZE>::init(&config, &input, &device).unwrap();
    file.give_weights(&mut model);

    let frames = frames(2, SIZE, &device);
    let latents = model.represent(frames.clone());
    let reconstruction = values(model.reconstruct(latents.mean.clone()).unwrap());
    file.check_tensor("mean", latents.mean);
    file.check_tensor("std_dev", latents.std_dev.unwrap());
    let kept: Vec<f32> = reconstruction.into_iter().step_by(41).collect();
    file.check("reconstruction", &kept);

    let losses = model.network.losses_with(frames.clone(), file.input("noise", &device));
    file.check_tensor("loss", losses.total.clone());
    for (name, part) in losses.parts {
        let name = if name == "reconstruction" { "reconstruction_error" } else { name };
        file.check_tensor(name, part);
    }
    file.check_gradients(&model, &losses.total);

    // The frozen encoder, too.
    let rows = values(frames);
    let [mut mean, mut std_dev] = [vec![0.0; 6], vec![0.0; 6]];
    model.on_cpu().unwrap().encode(&rows, &mut mean, Some(&mut std_dev));
    file.check("mean", &mean);
    file.check("std_dev", &std_dev);
}

#[test]
fn vae_64_gives_what_pytorch_gives() {
    check::<64>(1.5, 0.1);
}

#[test]
fn vae_96_gives_what_pytorch_gives() {
    check::<96>(4.0, 0.0);
}
