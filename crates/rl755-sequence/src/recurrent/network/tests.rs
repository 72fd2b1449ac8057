//! Recurrent networks and their sessions.

use ndarray::{Array3, Axis, s};
use rl755_nn::{num_parameters, values};

use super::*;
use crate::{
    trained,
    values::{assert_close, random_array, tensor},
};

const SIZES: Sizes = Sizes { latent: 5, action: 2, sequence_length: 9 };

fn network<C: RecurrentConfig>(config: C) -> RecurrentNetwork<C> {
    RecurrentNetwork::init(&config, &SIZES, &Device::flex()).unwrap()
}

#[test]
fn there_are_as_many_parameters_as_the_paper_and_the_documentation_say() {
    let sizes = Sizes { latent: 32, action: 3, sequence_length: 32 };
    let device = Device::flex();
    let mdn_rnn = MdnRnn::init(&MdnRnnConfig::default(), &sizes, &device).unwrap();
    assert_eq!(num_parameters(&mdn_rnn), 422_368);
    let lstm = LstmNetwork::init(&LstmConfig::default(), &sizes, &device).unwrap();
    assert_eq!(num_parameters(&lstm), 307_232);
}

#[test]
fn sessions_give_what_the_full_pass_gives() {
    // With one mixture, the most likely latent is its mean: the second block.
    let mdn_rnn = MdnRnnConfig { hidden_size: 19, mixtures: 1, ..MdnRnnConfig::default() };
    check_sessions(mdn_rnn, 3, |raw| raw.slice_move(s![.., .., 5..10]));
    let lstm = LstmConfig { hidden_size: 70, ..LstmConfig::default() };
    check_sessions(lstm, 20, |raw| raw);
}

/// What sessions of `rows` episodes give beside the full pass, of whose outputs `likely` takes the
/// most likely latents.
fn check_sessions<C: RecurrentConfig>(
    config: C,
    rows: usize,
    likely: fn(Array3<f32>) -> Array3<f32>,
) {
    let network = network(config);
    let inputs = random_array([rows, 9, 7], 1);
    let (hidden, raw) = network.forward(tensor(&inputs, &Device::flex()));
    let [hidden, raw] =
        [hidden, raw].map(|x| Array3::from_shape_vec((rows, 9, x.dims()[1]), values(x)).unwrap());
    let predicted = likely(raw);
    let model = trained(&network, SIZES, false);
    let mut session = model.session(rows);
    let mut randoms = vec![rl755_run::Random::new(0); rows];
    for step in 0..9 {
        let input = inputs.index_axis(Axis(1), step);
        let (latents, actions) = input.split_at(Axis(1), 5);
        session.step(latents, actions).unwrap();
        assert_close(session.hidden(), hidden.index_axis(Axis(1), step));
        let found = session.predict(0.0, &mut randoms).unwrap();
        assert_close(found.view(), predicted.index_axis(Axis(1), step));
    }
    assert_eq!(session.predicted_rewards().unwrap(), None);
}

#[test]
fn rewards_and_ends_are_those_of_the_full_pass() {
    let config = MdnRnnConfig {
        hidden_size: 19,
        predict_reward: true,
        predict_done: true,
        ..MdnRnnConfig::default()
    };
    let (network, device) = (network(config), Device::flex());
    let inputs = random_array([3, 9, 7], 1);
    let batch = |value: f32| SequenceBatch {
        latents: tensor(&inputs.slice(s![.., .., ..5]).to_owned(), &device),
        actions: tensor(&inputs.slice(s![.., .., 5..]).to_owned(), &device),
        targets: Tensor::zeros([3, 9, 5], &device),
        rewards: Tensor::zeros([3, 9], &device) + value,
        terminals: Tensor::zeros([3, 9], &device) + value,
        followed: None,
    };
    let model = trained(&network, SIZES, false);
    let mut session = model.session(3);
    let error = session.predicted_rewards().unwrap_err();
    assert!(matches!(error, SequenceError::NothingSeen));
    let mut expected = [0.0; 4];
    for step in 0..9 {
        let input = inputs.index_axis(ndarray::Axis(1), step);
        let (latents, actions) = input.split_at(ndarray::Axis(1), 5);
        session.step(latents, actions).unwrap();
        let rewards = session.predicted_rewards().unwrap().unwrap();
        let dones = session.predicted_dones().unwrap().unwrap();
        for (reward, done) in rewards.iter().zip(&dones) {
            let (reward, done) = (f64::from(*reward), f64::from(*done));
            // The weighted odds are what the cross-entropy sees.
            let odds = 10.0 * done / (1.0 - done);
            let terms = [
                reward * reward,
                (reward - 1.0) * (reward - 1.0),
                (1.0 + odds).ln(),
                10.0 * ((1.0 + odds) / odds).ln(),
            ];
            expected.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term / 27.0);
        }
    }
    for (value, expected) in [(0.0, [expected[0], expected[2]]), (1.0, [expected[1], expected[3]])]
    {
        let losses = network.losses(&batch(value)).metrics();
        let names: Vec<&str> = losses.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(names, ["loss", "latent_loss", "reward_loss", "done_loss"]);
        for ((_, found), expected) in losses[2..].iter().zip(expected) {
            assert!((found - expected).abs() < 1e-5 * expected.max(1.0), "{losses:?}");
        }
        let sum: f64 = losses[1..].iter().map(|(_, value)| value).sum();
        assert!((losses[0].1 - sum).abs() < 1e-5 * sum.abs());
    }
}

#[test]
fn bad_settings_are_refused() {
    let check = |change: fn(&mut MdnRnnConfig), expected: &str| {
        let mut config = MdnRnnConfig::default();
        change(&mut config);
        let error = MdnRnn::init(&config, &SIZES, &Device::flex()).unwrap_err().to_string();
        assert_eq!(error, format!("config of mdn-rnn: {expected}"));
    };
    check(|c| c.hidden_size = 0, "hidden_size is 0; it must be from 1 to 65536");
    check(|c| c.mixtures = 0, "mixtures is 0; it must be from 1 to 65536");
    check(|c| c.terminal_weight = 0.0, "terminal_weight is 0; it must be a number above 0");
    let config = LstmConfig { hidden_size: 0, ..LstmConfig::default() };
    let error = LstmNetwork::init(&config, &SIZES, &Device::flex()).unwrap_err().to_string();
    assert_eq!(error, "config of lstm: hidden_size is 0; it must be from 1 to 65536");
}
