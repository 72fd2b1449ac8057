//! An LSTM that predicts a single value for each latent dimension.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Device, Tensor},
};
use rl755_nn::{Losses, OptimizerConfig, watch};
use serde::{Deserialize, Serialize};

use super::{
    MdnRnn, MdnRnnConfig,
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

/// Hyper-parameters of [`LstmNetwork`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LstmConfig {
    /// Numbers in the hidden state. Default 256.
    pub hidden_size: usize,
    /// As in [`MdnRnnConfig`](crate::MdnRnnConfig). Default false.
    pub predict_reward: bool,
    /// As in [`MdnRnnConfig`](crate::MdnRnnConfig). Default false.
    pub predict_done: bool,
    /// As in [`MdnRnnConfig`](crate::MdnRnnConfig). Default 10.
    pub terminal_weight: f64,
}

impl Default for LstmConfig {
    fn default() -> Self {
        Self { hidden_size: 256, predict_reward: false, predict_done: false, terminal_weight: 10.0 }
    }
}

impl LstmConfig {
    fn outcome(&self) -> OutcomeSettings {
        OutcomeSettings {
            reward: self.predict_reward,
            done: self.predict_done,
            terminal_weight: self.terminal_weight,
        }
    }
}

/// `lstm`: the memory of [`mdn-rnn`](crate::MdnRnn) with a deterministic prediction, trained by the
/// mean squared error per latent dimension.
///
/// With latents of 32, actions of 3 and 256 hidden numbers it has 307,232 parameters: 299,008 in the
/// LSTM, 8,224 in the linear layer.
#[derive(Module, Debug)]
pub struct LstmNetwork {
    lstm: Lstm,
    head: Linear,
    outcome: OutcomeHeads,
}

impl LstmNetwork {
    /// The hidden states `[batch · length, hidden]` and predictions `[batch · length, latent]` after
    /// each step.
    fn forward(&self, inputs: Tensor<3>) -> (Tensor<2>, Tensor<2>) {
        let hidden: Tensor<2> = self.lstm.forward(inputs).flatten(0, 1);
        watch("the hidden states of the LSTM", &hidden);
        (hidden.clone(), apply_linear(&self.head, hidden))
    }
}

impl SequenceNetwork for LstmNetwork {
    const NAME: &'static str = "lstm";

    type Config = LstmConfig;

    type Cell = LstmCell;

    fn init(config: &LstmConfig, sizes: &Sizes, device: &Device) -> Result<Self, SequenceError> {
        check_size(Self::NAME, "hidden_size", config.hidden_size)?;
        config.outcome().check(Self::NAME)?;
        Ok(Self {
            head: linear(config.hidden_size, sizes.latent, device),
            lstm: Lstm::new(sizes.input(), config.hidden_size, device),
            outcome: OutcomeHeads::new(config.outcome(), config.hidden_size, device),
        })
    }

    fn losses(&self, batch: &SequenceBatch) -> Losses {
        let (hidden, predicted) = self.forward(batch.inputs());
        let losses = Prediction::Value.losses(predicted, batch.targets.clone().flatten(0, 1));
        self.outcome.losses(batch.mean_latent_loss(losses), &hidden, batch)
    }

    fn cell(&self) -> LstmCell {
        LstmCell::new(&self.lstm, dense(&self.head), Prediction::Value, self.outcome.cells())
    }

    fn default_optimizer(_config: &LstmConfig) -> OptimizerConfig {
        MdnRnn::default_optimizer(&MdnRnnConfig::default())
    }

    fn baseline(&self, squared_changes: &[f64]) -> Option<f64> {
        Some(Prediction::Value.baseline(squared_changes))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array3, Axis};
    use rl755_nn::num_parameters;

    use super::*;
    use crate::{
        trained,
        values::{assert_close, random_array, tensor, values},
    };

    #[test]
    fn the_default_model_has_as_many_parameters_as_its_documentation_says() {
        let sizes = Sizes { latent: 32, action: 3, sequence_length: 32 };
        let config = LstmConfig::default();
        let network = LstmNetwork::init(&config, &sizes, &Device::flex()).unwrap();
        assert_eq!(num_parameters(&network), 307_232);
    }

    #[test]
    fn sessions_give_what_the_full_pass_gives() {
        let sizes = Sizes { latent: 5, action: 2, sequence_length: 9 };
        let config = LstmConfig { hidden_size: 70, ..LstmConfig::default() };
        let device = Device::flex();
        let network = LstmNetwork::init(&config, &sizes, &device).unwrap();
        let inputs = random_array([20, 9, 7], 1);
        let (hidden, predicted) = network.forward(tensor(&inputs, &device));
        let steps =
            |x: Tensor<2>, width: usize| Array3::from_shape_vec((20, 9, width), values(x)).unwrap();
        let (hidden, predicted) = (steps(hidden, 70), steps(predicted, 5));
        let model = trained(&network, sizes, false);
        let mut session = model.session(20);
        let mut randoms = vec![rl755_run::Random::new(0); 20];
        for step in 0..9 {
            let input = inputs.index_axis(Axis(1), step);
            let (latents, actions) = input.split_at(Axis(1), 5);
            session.step(latents, actions).unwrap();
            assert_close(session.hidden(), hidden.index_axis(Axis(1), step));
            let found = session.predict(1.0, &mut randoms).unwrap();
            assert_close(found.view(), predicted.index_axis(Axis(1), step));
        }
        assert_eq!(session.predicted_rewards().unwrap(), None);
    }

    #[test]
    fn bad_settings_are_refused() {
        let sizes = Sizes { latent: 5, action: 2, sequence_length: 9 };
        let config = LstmConfig { hidden_size: 0, ..LstmConfig::default() };
        let error = LstmNetwork::init(&config, &sizes, &Device::flex()).unwrap_err().to_string();
        assert_eq!(error, "config of lstm: hidden_size is 0; it must be from 1 to 65536");
    }
}
