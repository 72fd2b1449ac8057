//! The hyper-parameters of recurrent networks.

use std::fmt::Debug;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{SequenceError, latents::Prediction, model_config::check_size};

/// The hyper-parameters of one kind of [`RecurrentNetwork`](crate::RecurrentNetwork).
pub trait RecurrentConfig:
    Serialize + DeserializeOwned + Default + Clone + Debug + Send + Sync + 'static
{
    /// The name of the network on the command line and in manifests.
    const NAME: &'static str;

    /// What they say.
    fn settings(&self) -> RecurrentSettings;
}

/// What the hyper-parameters of any recurrent network say.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentSettings {
    pub(super) hidden_size: usize,
    pub(super) prediction: Prediction,
    pub(super) predict_reward: bool,
    pub(super) predict_done: bool,
    pub(super) terminal_weight: f64,
}

impl RecurrentSettings {
    pub(super) fn check(&self, model: &str) -> Result<(), SequenceError> {
        check_size(model, "hidden_size", self.hidden_size)?;
        self.prediction.check(model)?;
        let weight = self.terminal_weight;
        if weight.is_finite() && weight > 0.0 {
            return Ok(());
        }
        let reason = format!("terminal_weight is {weight}; it must be a number above 0");
        Err(SequenceError::config(model, reason))
    }
}

/// Hyper-parameters of [`MdnRnn`](crate::MdnRnn).
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
        let LstmConfig { hidden_size, predict_reward, predict_done, terminal_weight } =
            LstmConfig::default();
        Self { hidden_size, mixtures: 5, predict_reward, predict_done, terminal_weight }
    }
}

impl RecurrentConfig for MdnRnnConfig {
    const NAME: &'static str = "mdn-rnn";

    fn settings(&self) -> RecurrentSettings {
        let Self { hidden_size, mixtures, predict_reward, predict_done, terminal_weight } = *self;
        let prediction = Prediction::Mixture(mixtures);
        RecurrentSettings { hidden_size, prediction, predict_reward, predict_done, terminal_weight }
    }
}

/// Hyper-parameters of [`LstmNetwork`](crate::LstmNetwork).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LstmConfig {
    /// Numbers in the hidden state. Default 256.
    pub hidden_size: usize,
    /// As in [`MdnRnnConfig`]. Default false.
    pub predict_reward: bool,
    /// As in [`MdnRnnConfig`]. Default false.
    pub predict_done: bool,
    /// As in [`MdnRnnConfig`]. Default 10.
    pub terminal_weight: f64,
}

impl Default for LstmConfig {
    fn default() -> Self {
        Self { hidden_size: 256, predict_reward: false, predict_done: false, terminal_weight: 10.0 }
    }
}

impl RecurrentConfig for LstmConfig {
    const NAME: &'static str = "lstm";

    fn settings(&self) -> RecurrentSettings {
        let Self { hidden_size, predict_reward, predict_done, terminal_weight } = *self;
        let prediction = Prediction::Value;
        RecurrentSettings { hidden_size, prediction, predict_reward, predict_done, terminal_weight }
    }
}
