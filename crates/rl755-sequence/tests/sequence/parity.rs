//! Sequence models beside PyTorch's layers with the same weights: golden files, which
//! `cargo xtask golden sequence_by_pytorch` makes again.

use burn::tensor::{Device, Tensor};
use ndarray::{Array3, Axis};
use rl755_run::Random;
use rl755_sequence::{
    MdnRnn, MdnRnnConfig, SequenceBatch, SequenceNetwork, Sizes, Transformer, TransformerConfig,
    trained,
};

#[path = "../../../rl755-nn/tests/pytorch/golden_file.rs"]
mod golden_file;

use golden_file::{GoldenFile, values};

const BATCH: usize = 3;
const SIZES: Sizes = Sizes { latent: 4, action: 2, sequence_length: 6 };

/// Loss and gradients of the network `N`, and what sessions of it give step by step.
fn check<N: SequenceNetwork>(name: &str, config: &N::Config) {
    let file = GoldenFile::read(env!("CARGO_MANIFEST_DIR"), name);
    let device = Device::flex().autodiff();
    let mut network = N::init(config, &SIZES, &device).unwrap();
    file.give_weights(&mut network);
    let zeros = || Tensor::zeros([BATCH, SIZES.sequence_length], &device);
    let batch = SequenceBatch {
        latents: file.input("latents", &device),
        actions: file.input("actions", &device),
        targets: file.input("targets", &device),
        rewards: zeros(),
        terminals: zeros(),
        followed: None,
    };
    let losses = network.losses(&batch);
    file.check_tensor("loss", losses.total.clone());
    file.check_gradients(&network, &losses.total);

    let model = trained(&network.valid(), SIZES, false);
    let steps = |tensor: Tensor<3>| Array3::from_shape_vec(tensor.dims(), values(tensor)).unwrap();
    let (latents, actions) = (steps(batch.latents), steps(batch.actions));
    let shape = |width| Array3::<f32>::zeros((BATCH, SIZES.sequence_length, width));
    let (mut hidden, mut predictions) = (shape(model.hidden_size()), shape(SIZES.latent));
    let mut session = model.session(BATCH);
    let mut randoms = vec![Random::new(0); BATCH];
    for step in 0..SIZES.sequence_length {
        let at = |all: &Array3<f32>| all.index_axis(Axis(1), step).to_owned();
        session.step(at(&latents).view(), at(&actions).view()).unwrap();
        hidden.index_axis_mut(Axis(1), step).assign(&session.hidden());
        let predicted = session.predict(0.0, &mut randoms).unwrap();
        predictions.index_axis_mut(Axis(1), step).assign(&predicted);
    }
    file.check("hidden", hidden.as_slice().unwrap());
    file.check("predictions", predictions.as_slice().unwrap());
}

#[test]
fn mdn_rnn_gives_what_pytorch_gives() {
    check::<MdnRnn>(
        "mdn-rnn",
        &MdnRnnConfig { hidden_size: 16, mixtures: 3, ..MdnRnnConfig::default() },
    );
}

#[test]
fn transformer_gives_what_pytorch_gives() {
    let config = TransformerConfig {
        layers: 2,
        hidden_size: 16,
        heads: 2,
        feed_forward_size: 24,
        dropout: 0.0,
        ..TransformerConfig::default()
    };
    check::<Transformer>("transformer", &config);
}
