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
    model_config::check_size,
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
        check_size(Self::NAME, "hidden_size", hidden_size)?;
        check_size(Self::NAME, "mixtures", mixtures)?;
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

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use rl755_nn::num_parameters;

    use super::*;
    use crate::{
        trained,
        values::{assert_close, random_array, tensor},
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
        let config = MdnRnnConfig { hidden_size: 19, mixtures: 1 };
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
                    all[(step * 3 + row) * width + from + i]
                })
            };
            assert_close(session.hidden(), rows(&hidden, 19, 0, 19).view());
            assert_close(predicted.view(), rows(&raw, 15, 5, 10).view());
        }
    }

    #[test]
    fn bad_sizes_are_refused() {
        let sizes = Sizes { latent: 5, action: 2, sequence_length: 9 };
        let config = MdnRnnConfig { hidden_size: 0, mixtures: 5 };
        let error = MdnRnn::init(&config, &sizes, &Device::flex()).unwrap_err().to_string();
        assert_eq!(error, "config of mdn-rnn: hidden_size is 0; it must be from 1 to 65536");
    }
}
