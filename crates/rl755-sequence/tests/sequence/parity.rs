//! Sequence models beside PyTorch's layers with the same weights: golden files, which
//! `cargo xtask golden sequence_by_pytorch` makes again.

use burn::tensor::{Device, Tensor};
use ndarray::{Array1, Array3, Axis};
use rl755_run::Random;
use rl755_sequence::{
    LstmConfig, LstmNetwork, MdnRnn, MdnRnnConfig, Retrieval, RetrievalConfig, SequenceBatch,
    SequenceNetwork, Sizes, Transformer, TransformerConfig, trained,
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
    let outcome = |name| {
        if file.has(&format!("input/{name}")) {
            return file.input(name, &device);
        }
        Tensor::zeros([BATCH, SIZES.sequence_length], &device)
    };
    let batch = SequenceBatch {
        latents: file.input("latents", &device),
        actions: file.input("actions", &device),
        targets: file.input("targets", &device),
        rewards: outcome("rewards"),
        terminals: outcome("terminals"),
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
    let (mut rewards, mut dones) = (shape(1), shape(1));
    let mut session = model.session(BATCH);
    let mut randoms = vec![Random::new(0); BATCH];
    for step in 0..SIZES.sequence_length {
        let at = |all: &Array3<f32>| all.index_axis(Axis(1), step).to_owned();
        session.step(at(&latents).view(), at(&actions).view()).unwrap();
        hidden.index_axis_mut(Axis(1), step).assign(&session.hidden());
        let predicted = session.predict(0.0, &mut randoms).unwrap();
        predictions.index_axis_mut(Axis(1), step).assign(&predicted);
        let keep = |to: &mut Array3<f32>, from: Option<Array1<f32>>| {
            let rows = to.index_axis_mut(Axis(1), step);
            rows.into_iter().zip(from.unwrap_or_default()).for_each(|(to, from)| *to = from);
        };
        keep(&mut rewards, session.predicted_rewards().unwrap());
        keep(&mut dones, session.predicted_dones().unwrap());
    }
    for (name, found) in [("rewards", rewards), ("dones", dones)] {
        if file.has(&format!("value/{name}")) {
            file.check(name, found.as_slice().unwrap());
        }
    }
    file.check("hidden", hidden.as_slice().unwrap());
    file.check("predictions", predictions.as_slice().unwrap());
}

#[test]
fn mdn_rnn_gives_what_pytorch_gives() {
    let config = MdnRnnConfig { hidden_size: 16, mixtures: 3, ..MdnRnnConfig::default() };
    check::<MdnRnn>("mdn-rnn", &config);
}

#[test]
fn rewards_and_ends_are_what_pytorch_gives() {
    let config = MdnRnnConfig {
        hidden_size: 16,
        mixtures: 3,
        predict_reward: true,
        predict_done: true,
        terminal_weight: 10.0,
    };
    check::<MdnRnn>("mdn-rnn-outcomes", &config);
}

#[test]
fn lstm_gives_what_pytorch_gives() {
    check::<LstmNetwork>("lstm", &LstmConfig { hidden_size: 16, ..LstmConfig::default() });
}

fn transformer(mixtures: usize) -> TransformerConfig {
    TransformerConfig {
        layers: 2,
        hidden_size: 16,
        heads: 2,
        feed_forward_size: 24,
        mixtures,
        dropout: 0.0,
        ..TransformerConfig::default()
    }
}

#[test]
fn transformer_gives_what_pytorch_gives() {
    check::<Transformer>("transformer", &transformer(0));
}

#[test]
fn transformer_with_mixtures_gives_what_pytorch_gives() {
    check::<Transformer>("transformer-mixture", &transformer(3));
}

#[test]
fn retrieval_gives_what_pytorch_gives() {
    let config = RetrievalConfig {
        context: 2,
        window: 2,
        stride: 1,
        top_k: 2,
        key_size: 5,
        transformer: TransformerConfig { context_slide: 1, ..transformer(0) },
        ..RetrievalConfig::default()
    };
    check::<Retrieval>("retrieval", &config);
}
