//! The MDN-RNN as a network in training.

use burn::{
    module::{Initializer, Module},
    nn::{Linear, LinearConfig},
    tensor::{Device, Tensor},
};
use rl755_nn::{Losses, OptimizerConfig};
use serde::{Deserialize, Serialize};

use crate::{
    MdnRnnCell, SequenceBatch, SequenceError, SequenceNetwork, Sizes,
    kernel::Dense,
    mdn_rnn::{lstm::Lstm, mixture::negative_log_likelihood},
    model_config::positive,
    values::values,
};

/// Hyper-parameters of [`MdnRnn`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MdnRnnConfig {
    /// Numbers in the LSTM's hidden state. Default 256 (World Models: 512 for Doom).
    pub hidden_size: usize,
    /// Normal distributions in the mixture of each latent dimension. Default 5.
    pub mixtures: usize,
}

impl Default for MdnRnnConfig {
    fn default() -> Self {
        Self { hidden_size: 256, mixtures: 5 }
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
#[derive(Module, Debug)]
pub struct MdnRnn {
    lstm: Lstm,
    head: Linear,
}

impl MdnRnn {
    /// The hidden states `[length · batch, hidden]` and raw mixtures
    /// `[length · batch, 3 · latent · mixtures]` after each step, one step after another.
    pub(super) fn forward(&self, inputs: Tensor<3>) -> (Tensor<2>, Tensor<2>) {
        let hidden = self.lstm.forward(inputs);
        (hidden.clone(), self.head.forward(hidden))
    }
}

impl SequenceNetwork for MdnRnn {
    const NAME: &'static str = "mdn-rnn";

    type Config = MdnRnnConfig;

    type Cell = MdnRnnCell;

    fn init(config: &MdnRnnConfig, sizes: &Sizes, device: &Device) -> Result<Self, SequenceError> {
        let MdnRnnConfig { hidden_size, mixtures } = *config;
        positive(Self::NAME, "hidden_size", hidden_size)?;
        positive(Self::NAME, "mixtures", mixtures)?;
        let outputs = 3 * sizes.latent * mixtures;
        let mut head = LinearConfig::new(hidden_size, outputs).init(device);
        head.weight = Initializer::XavierUniform { gain: 1.0 }.init_with(
            [hidden_size, outputs],
            Some(hidden_size),
            Some(outputs),
            device,
        );
        head.bias = Some(Initializer::Zeros.init([outputs], device));
        Ok(Self { lstm: Lstm::new(sizes.input(), hidden_size, device), head })
    }

    fn losses(&self, batch: &SequenceBatch) -> Losses {
        let [rows, length, latent] = batch.targets.dims();
        let (_, raw) = self.forward(batch.inputs());
        let targets = batch.targets.clone().swap_dims(0, 1).reshape([length * rows, latent]);
        Losses { total: negative_log_likelihood(raw, targets), parts: Vec::new() }
    }

    fn cell(&self) -> MdnRnnCell {
        let Lstm { input_weight, hidden_weight, bias, hidden_size } = &self.lstm;
        let mut weight = values(input_weight.val());
        weight.extend(values(hidden_weight.val()));
        let head_bias = self.head.bias.as_ref().map(|bias| values(bias.val()));
        let head_weight = values(self.head.weight.val());
        let outputs = head_weight.len() / hidden_size;
        MdnRnnCell::new(
            *hidden_size,
            Dense::new(&weight, &values(bias.val())),
            Dense::new(&head_weight, &head_bias.unwrap_or_else(|| vec![0.0; outputs])),
        )
    }

    fn default_optimizer() -> OptimizerConfig {
        OptimizerConfig { max_gradient_norm: Some(1.0), ..OptimizerConfig::default() }
    }

    /// A normal distribution around the last latent, with the best standard deviation for each
    /// dimension.
    fn baseline(squared_changes: &[f64]) -> Option<f64> {
        let entropy =
            |variance: &f64| 0.5 * (std::f64::consts::TAU * std::f64::consts::E * variance).ln();
        Some(squared_changes.iter().map(entropy).sum::<f64>() / squared_changes.len() as f64)
    }
}
