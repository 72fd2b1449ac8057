//! The MDN-RNN as a network in training.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Device, Tensor},
};
use rl755_nn::{Losses, OptimizerConfig, watch};
use serde::{Deserialize, Serialize};

use super::{
    cell::LstmCell,
    lstm::Lstm,
    outcome::{OutcomeHeads, OutcomeSettings},
};
use crate::{
    SequenceBatch, SequenceError, SequenceNetwork, Sizes,
    latents::Prediction,
    layers::{apply_linear, dense, linear},
    model_config::check_size,
};

/// Hyper-parameters of [`MdnRnn`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MdnRnnConfig {
    /// Numbers in the LSTM's hidden state. Default 256 (World Models: 512 for Doom).
    pub hidden_size: usize,
    /// Normal distributions in the mixture of each latent dimension. Default 5.
    pub mixtures: usize,
    /// Whether to predict the reward of each step, too: a linear layer from the hidden state, whose
    /// mean squared error is added to the loss. Default false.
    pub predict_reward: bool,
    /// Whether to predict that the task ends with a step, too (World Models: for Doom): a linear
    /// layer from the hidden state, whose mean binary cross-entropy is added to the loss. Default
    /// false.
    pub predict_done: bool,
    /// How many times a step that ends the task counts in the cross-entropy, as ends are rare.
    /// Predicted probabilities are corrected for it. Default 10, as in World Models' code.
    pub terminal_weight: f64,
}

impl Default for MdnRnnConfig {
    fn default() -> Self {
        Self {
            hidden_size: 256,
            mixtures: 5,
            predict_reward: false,
            predict_done: false,
            terminal_weight: 10.0,
        }
    }
}

impl MdnRnnConfig {
    fn outcome(&self) -> OutcomeSettings {
        OutcomeSettings {
            reward: self.predict_reward,
            done: self.predict_done,
            terminal_weight: self.terminal_weight,
        }
    }
}

/// `mdn-rnn`: the memory of World Models (Ha & Schmidhuber 2018, appendix A.2).
///
/// An LSTM takes in the latent and the action; a linear layer makes of its hidden state a mixture
/// of normal distributions for each dimension of the next latent. The hidden state is what
/// controllers see. The loss is the negative log-likelihood in nats per latent dimension (it can
/// be below 0: densities can be above 1).
///
/// With latents of 32, actions of 3, 256 hidden numbers and 5 mixtures it has the paper's 422,368
/// parameters: (32 + 3 + 256) · 1024 weights and 1024 biases in the LSTM, 256 · 480 weights and
/// 480 biases in the linear layer.
///
/// On demand it predicts rewards and ends, too; each takes 257 more.
#[derive(Module, Debug)]
pub struct MdnRnn {
    lstm: Lstm,
    head: Linear,
    outcome: OutcomeHeads,
    mixtures: usize,
}

impl MdnRnn {
    fn prediction(&self) -> Prediction {
        Prediction::Mixture(self.mixtures)
    }

    /// The hidden states `[batch · length, hidden]` and raw mixtures
    /// `[batch · length, 3 · latent · mixtures]` after each step.
    pub(super) fn forward(&self, inputs: Tensor<3>) -> (Tensor<2>, Tensor<2>) {
        let hidden: Tensor<2> = self.lstm.forward(inputs).flatten(0, 1);
        watch("the hidden states of the LSTM", &hidden);
        (hidden.clone(), apply_linear(&self.head, hidden))
    }
}

impl SequenceNetwork for MdnRnn {
    const NAME: &'static str = "mdn-rnn";

    type Config = MdnRnnConfig;

    type Cell = LstmCell;

    fn init(config: &MdnRnnConfig, sizes: &Sizes, device: &Device) -> Result<Self, SequenceError> {
        let MdnRnnConfig { hidden_size, mixtures, .. } = *config;
        check_size(Self::NAME, "hidden_size", hidden_size)?;
        check_size(Self::NAME, "mixtures", mixtures)?;
        config.outcome().check(Self::NAME)?;
        Ok(Self {
            head: linear(hidden_size, Prediction::Mixture(mixtures).outputs(sizes.latent), device),
            lstm: Lstm::new(sizes.input(), hidden_size, device),
            outcome: OutcomeHeads::new(config.outcome(), hidden_size, device),
            mixtures,
        })
    }

    fn losses(&self, batch: &SequenceBatch) -> Losses {
        let (hidden, raw) = self.forward(batch.inputs());
        let losses = self.prediction().losses(raw, batch.targets.clone().flatten(0, 1));
        self.outcome.losses(batch.mean_latent_loss(losses), &hidden, batch)
    }

    fn cell(&self) -> LstmCell {
        LstmCell::new(&self.lstm, dense(&self.head), self.prediction(), self.outcome.cells())
    }

    fn default_optimizer(_config: &MdnRnnConfig) -> OptimizerConfig {
        OptimizerConfig { max_gradient_norm: Some(1.0), ..OptimizerConfig::default() }
    }

    /// A normal distribution around the last latent, with the best standard deviation for each
    /// dimension.
    fn baseline(&self, squared_changes: &[f64]) -> Option<f64> {
        Some(self.prediction().baseline(squared_changes))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};
    use rl755_nn::num_parameters;

    use super::*;
    use crate::{
        trained,
        values::{assert_close, random_array, tensor, values},
    };

    #[test]
    fn the_paper_s_model_has_the_paper_s_number_of_parameters() {
        let sizes = Sizes { latent: 32, action: 3, sequence_length: 32 };
        let network = MdnRnn::init(&MdnRnnConfig::default(), &sizes, &Device::flex()).unwrap();
        assert_eq!(num_parameters(&network), 422_368);
    }

    #[test]
    fn sessions_give_what_the_full_pass_gives() {
        let sizes = Sizes { latent: 5, action: 2, sequence_length: 9 };
        let config = MdnRnnConfig { hidden_size: 19, mixtures: 1, ..MdnRnnConfig::default() };
        let device = Device::flex();
        let network = MdnRnn::init(&config, &sizes, &device).unwrap();
        let inputs = random_array([3, 9, 7], 1);
        let (hidden, raw) = network.forward(tensor(&inputs, &device));
        let (hidden, raw) = (values(hidden), values(raw));

        let model = trained(&network, sizes, false);
        let mut session = model.session(3);
        let mut randoms = vec![rl755_run::Random::new(0); 3];
        for step in 0..9 {
            let input = inputs.index_axis(ndarray::Axis(1), step);
            let (latents, actions) = input.split_at(ndarray::Axis(1), 5);
            session.step(latents, actions).unwrap();
            // With one mixture, the most likely latent is its mean: the second block.
            let predicted = session.predict(0.0, &mut randoms).unwrap();
            let rows = |all: &[f32], width: usize, from: usize, to: usize| {
                Array2::from_shape_fn((3, to - from), |(row, i)| {
                    all[(row * 9 + step) * width + from + i]
                })
            };
            assert_close(session.hidden(), rows(&hidden, 19, 0, 19).view());
            assert_close(predicted.view(), rows(&raw, 15, 5, 10).view());
        }
    }

    #[test]
    fn rewards_and_ends_are_those_of_the_full_pass() {
        let config = MdnRnnConfig {
            hidden_size: 19,
            predict_reward: true,
            predict_done: true,
            ..MdnRnnConfig::default()
        };
        let sizes = Sizes { latent: 5, action: 2, sequence_length: 9 };
        let device = Device::flex();
        let network = MdnRnn::init(&config, &sizes, &device).unwrap();
        let inputs = random_array([3, 9, 7], 1);
        let batch = |value: f32| SequenceBatch {
            latents: tensor(&inputs.slice(s![.., .., ..5]).to_owned(), &device),
            actions: tensor(&inputs.slice(s![.., .., 5..]).to_owned(), &device),
            targets: Tensor::zeros([3, 9, 5], &device),
            rewards: Tensor::zeros([3, 9], &device) + value,
            terminals: Tensor::zeros([3, 9], &device) + value,
            followed: None,
        };
        let model = trained(&network, sizes, false);
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
        for (value, expected) in
            [(0.0, [expected[0], expected[2]]), (1.0, [expected[1], expected[3]])]
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
        let sizes = Sizes { latent: 5, action: 2, sequence_length: 9 };
        let check = |change: fn(&mut MdnRnnConfig), expected: &str| {
            let mut config = MdnRnnConfig::default();
            change(&mut config);
            let error = MdnRnn::init(&config, &sizes, &Device::flex()).unwrap_err().to_string();
            assert_eq!(error, format!("config of mdn-rnn: {expected}"));
        };
        check(|c| c.hidden_size = 0, "hidden_size is 0; it must be from 1 to 65536");
        check(|c| c.mixtures = 0, "mixtures is 0; it must be from 1 to 65536");
        check(|c| c.terminal_weight = 0.0, "terminal_weight is 0; it must be a number above 0");
    }
}
