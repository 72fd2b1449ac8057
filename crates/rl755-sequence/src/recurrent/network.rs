//! Recurrent networks in training: an LSTM, and linear layers from its hidden state to what it
//! predicts.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Device, Tensor},
};
use rl755_nn::{Losses, OptimizerConfig, watch};

use super::{
    LstmConfig, MdnRnnConfig, RecurrentConfig, RecurrentSettings, cell::LstmCell, lstm::Lstm,
    outcome::OutcomeHeads,
};
use crate::{
    SequenceBatch, SequenceError, SequenceNetwork, Sizes,
    latents::Prediction,
    layers::{apply_linear, dense, linear},
};

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
pub type MdnRnn = RecurrentNetwork<MdnRnnConfig>;

/// `lstm`: the memory of [`mdn-rnn`](MdnRnn) with a deterministic prediction, trained by the mean
/// squared error per latent dimension.
///
/// With latents of 32, actions of 3 and 256 hidden numbers it has 307,232 parameters: 299,008 in the
/// LSTM, 8,224 in the linear layer.
pub type LstmNetwork = RecurrentNetwork<LstmConfig>;

/// A network whose memory is an LSTM; `C` says what it predicts. [`MdnRnn`] and [`LstmNetwork`] are
/// such networks.
#[derive(Module, Debug)]
pub struct RecurrentNetwork<C: RecurrentConfig> {
    lstm: Lstm,
    head: Linear,
    outcome: OutcomeHeads,
    #[module(skip)]
    config: C,
}

impl<C: RecurrentConfig> RecurrentNetwork<C> {
    fn prediction(&self) -> Prediction {
        self.config.settings().prediction
    }

    /// The hidden states `[batch · length, hidden]` and what latents are predicted from,
    /// `[batch · length, outputs]`, after each step.
    fn forward(&self, inputs: Tensor<3>) -> (Tensor<2>, Tensor<2>) {
        let hidden: Tensor<2> = self.lstm.forward(inputs).flatten(0, 1);
        watch("the hidden states of the LSTM", &hidden);
        (hidden.clone(), apply_linear(&self.head, hidden))
    }
}

impl<C: RecurrentConfig> SequenceNetwork for RecurrentNetwork<C> {
    const NAME: &'static str = C::NAME;

    type Config = C;

    type Cell = LstmCell;

    fn init(config: &C, sizes: &Sizes, device: &Device) -> Result<Self, SequenceError> {
        let settings = config.settings();
        settings.check(C::NAME)?;
        let RecurrentSettings { hidden_size, prediction, .. } = settings;
        Ok(Self {
            head: linear(hidden_size, prediction.outputs(sizes.latent), device),
            lstm: Lstm::new(sizes.input(), hidden_size, device),
            outcome: OutcomeHeads::new(&settings, device),
            config: config.clone(),
        })
    }

    fn activations(config: &C, sizes: &Sizes) -> usize {
        let RecurrentSettings { hidden_size, prediction, .. } = config.settings();
        // Gates, cell and state; what is predicted, with its slopes.
        let step = 6 * hidden_size + 2 * prediction.outputs(sizes.latent);
        step.saturating_mul(sizes.sequence_length)
    }

    fn losses(&self, batch: &SequenceBatch) -> Losses {
        let (hidden, raw) = self.forward(batch.inputs());
        let losses = self.prediction().losses(raw, batch.targets.clone().flatten(0, 1));
        self.outcome.losses(batch.mean_latent_loss(losses), &hidden, batch)
    }

    fn cell(&self) -> LstmCell {
        LstmCell::new(&self.lstm, dense(&self.head), self.prediction(), self.outcome.cells())
    }

    fn default_optimizer(_config: &C) -> OptimizerConfig {
        OptimizerConfig { max_gradient_norm: Some(1.0), ..OptimizerConfig::default() }
    }

    fn baseline(&self, squared_changes: &[f64]) -> Option<f64> {
        Some(self.prediction().baseline(squared_changes))
    }
}

#[cfg(test)]
mod tests;
