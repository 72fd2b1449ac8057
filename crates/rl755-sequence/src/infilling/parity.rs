//! The U-Nets beside PyTorch's convolutions with the same weights: a golden file, which
//! `cargo xtask golden infilling_by_pytorch` makes again.

use burn::tensor::Device;

#[path = "../../../rl755-nn/tests/pytorch/golden_file.rs"]
mod golden_file;

use golden_file::GoldenFile;

use super::{Infilling, InfillingConfig, masks::Masks};
use crate::{SequenceNetwork, Sizes};

#[test]
fn generator_and_discriminator_give_what_pytorch_gives() {
    let file = GoldenFile::read(env!("CARGO_MANIFEST_DIR"), "infilling");
    let config = InfillingConfig {
        channels: 3,
        depth: 2,
        longest_span: 3,
        gan_weight: 0.5,
        noise_size: 2,
        mode_seeking_weight: 0.1,
        ..InfillingConfig::default()
    };
    let sizes = Sizes { latent: 3, action: 2, sequence_length: 6 };
    let device = Device::flex().autodiff();
    let mut network = Infilling::init(&config, &sizes, &device).unwrap();
    file.give_weights(&mut network);
    let masks = Masks {
        known: file.input("known", &device),
        asked: file.input("asked", &device),
        noise: Some(["noise", "other_noise"].map(|name| file.input(name, &device))),
    };
    let (latents, actions) = (file.input("latents", &device), file.input("actions", &device));
    let (features, filled) = network.generate(latents.clone(), actions.clone(), &masks);
    file.check_tensor("features", features);
    file.check_tensor("filled", filled);
    let losses = network.losses_of(latents, actions, &masks);
    assert_eq!(losses.parts.len(), 4);
    for (name, loss) in losses.parts {
        file.check_tensor(name, loss);
    }
    file.check_tensor("loss", losses.total.clone());
    file.check_gradients(&network, &losses.total);
}
