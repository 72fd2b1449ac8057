//! The transformer as a network in training.

use std::num::Saturating;

use burn::{
    module::{Initializer, Module, Param},
    nn::{LayerNorm, LayerNormConfig, Linear},
    tensor::{Device, Tensor},
};
use rl755_nn::{Losses, OptimizerConfig, watch};
use serde::{Deserialize, Serialize};

use crate::{
    SequenceBatch, SequenceError, SequenceNetwork, Sizes, TransformerCell,
    dropout::dropout,
    latents::Prediction,
    layers::{apply_linear, apply_norm, linear},
    model_config::check_size,
    transformer::block::Block,
};

/// Hyper-parameters of [`Transformer`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TransformerConfig {
    /// Layers. Default 6.
    pub layers: usize,
    /// Numbers in the hidden state of a step. Default 256.
    pub hidden_size: usize,
    /// Attention heads, which must divide `hidden_size`. Default 4.
    pub heads: usize,
    /// Numbers inside the feed-forward networks. Default 1024.
    pub feed_forward_size: usize,
    /// Normal distributions in the mixture of each latent dimension; with 0 the prediction is a
    /// single value. Default 0.
    pub mixtures: usize,
    /// The share of numbers dropped in training, in 0..1. Default 0.1.
    pub dropout: f64,
    /// How many of the oldest steps are forgotten when an episode has filled the context, at
    /// least 1; all of them where it is the sequence length or more. A step then costs about
    /// `sequence_length / context_slide` times as much as in a short episode. Default 8.
    pub context_slide: usize,
}

impl Default for TransformerConfig {
    fn default() -> Self {
        Self {
            layers: 6,
            hidden_size: 256,
            heads: 4,
            feed_forward_size: 1024,
            mixtures: 0,
            dropout: 0.1,
            context_slide: 8,
        }
    }
}

impl TransformerConfig {
    fn check(&self) -> Result<(), SequenceError> {
        let name = Transformer::NAME;
        check_size(name, "layers", self.layers)?;
        check_size(name, "hidden_size", self.hidden_size)?;
        check_size(name, "heads", self.heads)?;
        check_size(name, "feed_forward_size", self.feed_forward_size)?;
        check_size(name, "context_slide", self.context_slide)?;
        Prediction::of(self.mixtures).check(name)?;
        if !self.hidden_size.is_multiple_of(self.heads) {
            let Self { hidden_size, heads, .. } = self;
            let reason = format!("{heads} heads cannot share a hidden_size of {hidden_size}");
            return Err(SequenceError::config(name, reason));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            let reason = format!("dropout is {}; it must be in 0..1", self.dropout);
            return Err(SequenceError::config(name, reason));
        }
        Ok(())
    }
}

/// `transformer`: the autoregressive transformer of the original project, deterministic or with a
/// mixture density output.
///
/// Takes in the latent and the action of each step, attends to the steps before, and predicts the
/// next latent: by a value for each latent dimension, whose loss is the mean squared error, or by a
/// mixture of normal distributions for each, as [`MdnRnn`](crate::MdnRnn) does, whose loss is the
/// negative log-likelihood in nats; both are averages over dimensions. Positions are learnt: the
/// model never looks back further than the sequence length it was trained with.
///
/// The hidden state that controllers see is the output of the last self-attention, with its
/// residual connection and normalised: what the last feed-forward network takes in.
///
/// Following an episode, keys and values of earlier steps are kept. When the context is full, the
/// `context_slide` oldest steps are forgotten and the rest computed anew at their new positions,
/// so that the context always has between `sequence_length - context_slide + 1` and
/// `sequence_length` steps, once the episode is that long.
///
/// With latents of 32, actions of 3, a sequence length of 32 and the default sizes it has
/// 4,764,704 parameters: 789,760 in each layer, 9,216 and 8,224 in the linear layers at its two
/// ends, 8,192 in the positions and 512 in the last normalisation.
#[derive(Module, Debug)]
pub struct Transformer {
    pub(super) input: Linear,
    /// `[sequence length, width]`.
    pub(super) positions: Param<Tensor<2>>,
    pub(super) blocks: Vec<Block>,
    pub(super) norm: LayerNorm,
    pub(crate) output: Linear,
    dropout: f64,
    pub(super) heads: usize,
    pub(super) context_slide: usize,
    mixtures: usize,
}

impl Transformer {
    /// How it predicts latents.
    pub(crate) fn prediction(&self) -> Prediction {
        Prediction::of(self.mixtures)
    }

    /// The hidden states `[batch, length, width]` and what the next latents are predicted from,
    /// `[batch, length, outputs]`, after each step of `inputs`, `[batch, length, latent + action]`.
    pub(super) fn forward(&self, inputs: Tensor<3>) -> (Tensor<3>, Tensor<3>) {
        let (hidden, features) = self.features(inputs);
        let [batch, length, _] = features.dims();
        let raw = apply_linear(&self.output, features.flatten(0, 1));
        let outputs = raw.dims()[1];
        (hidden, raw.reshape([batch, length, outputs]))
    }

    /// The hidden states after each step of `inputs`, `[batch, length, latent + action]`, and what
    /// the last linear layer takes in, both `[batch, length, width]`.
    pub(crate) fn features(&self, inputs: Tensor<3>) -> (Tensor<3>, Tensor<3>) {
        let [batch, length, input] = inputs.dims();
        let width = self.positions.dims()[1];
        let positions = self.positions.val().narrow(0, 0, length).unsqueeze::<3>();
        let embedded = apply_linear(&self.input, inputs.reshape([batch * length, input]));
        let placed = embedded.reshape([batch, length, width]) + positions;
        let mut x = dropout(placed.reshape([batch * length, width]), self.dropout);
        let mut hidden = x.clone();
        for block in &self.blocks {
            let output = block.forward(x, [batch, length]);
            watch("the output of self-attention", &output.hidden);
            watch("the output of a layer", &output.output);
            (hidden, x) = (output.hidden, output.output);
        }
        let shape = [batch, length, width];
        (hidden.reshape(shape), apply_norm(&self.norm, x).reshape(shape))
    }
}

impl SequenceNetwork for Transformer {
    const NAME: &'static str = "transformer";

    type Config = TransformerConfig;

    type Cell = TransformerCell;

    fn init(
        config: &TransformerConfig,
        sizes: &Sizes,
        device: &Device,
    ) -> Result<Self, SequenceError> {
        config.check()?;
        let (width, length) = (config.hidden_size, sizes.sequence_length);
        Ok(Self {
            input: linear(sizes.input(), width, device),
            positions: Initializer::Normal { mean: 0.0, std: 0.02 }.init([length, width], device),
            blocks: (0..config.layers).map(|_| Block::new(config, device)).collect(),
            norm: LayerNormConfig::new(width).init(device),
            output: linear(width, Prediction::of(config.mixtures).outputs(sizes.latent), device),
            dropout: config.dropout,
            heads: config.heads,
            context_slide: config.context_slide.min(length),
            mixtures: config.mixtures,
        })
    }

    fn activations(config: &TransformerConfig, sizes: &Sizes) -> usize {
        let outputs = Prediction::of(config.mixtures).outputs(sizes.latent);
        let TransformerConfig { layers, hidden_size, heads, feed_forward_size, .. } = *config;
        let [layers, width, wide, heads, length, outputs] =
            [layers, hidden_size, feed_forward_size, heads, sizes.sequence_length, outputs]
                .map(Saturating);
        let (two, twelve) = (Saturating(2), Saturating(12));
        // At a step: what linear layers, normalisations and sums give, with what is dropped of it;
        // the weights of attention, and which of them are dropped.
        let layer = twelve * width + two * (wide + heads * length);
        (length * (layers * layer + two * (width + outputs))).0
    }

    fn losses(&self, batch: &SequenceBatch) -> Losses {
        let (_, raw) = self.forward(batch.inputs());
        let targets = batch.targets.clone().flatten(0, 1);
        let losses = self.prediction().losses(raw.flatten(0, 1), targets);
        Losses { total: batch.mean_latent_loss(losses), parts: Vec::new() }
    }

    fn cell(&self) -> TransformerCell {
        TransformerCell::new(self)
    }

    fn default_optimizer(_config: &TransformerConfig) -> OptimizerConfig {
        OptimizerConfig { beta_2: 0.98, epsilon: 1e-9, ..OptimizerConfig::default() }
    }

    fn baseline(&self, squared_changes: &[f64]) -> Option<f64> {
        Some(self.prediction().baseline(squared_changes))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array3, Axis, s};
    use rl755_nn::values;

    use super::*;
    use crate::{
        trained,
        values::{assert_close, random_array, tensor},
    };

    const SIZES: Sizes = Sizes { latent: 5, action: 2, sequence_length: 6 };

    fn network(context_slide: usize, mixtures: usize) -> Transformer {
        let config = TransformerConfig {
            layers: 3,
            hidden_size: 24,
            heads: 4,
            feed_forward_size: 40,
            mixtures,
            dropout: 0.0,
            context_slide,
        };
        Transformer::init(&config, &SIZES, &Device::flex()).unwrap()
    }

    /// The hidden state and prediction after the last step of `inputs`, `[batch, length, input]`.
    fn full_pass(network: &Transformer, inputs: &Array3<f32>) -> [Array3<f32>; 2] {
        let (hidden, predicted) = network.forward(tensor(inputs, &Device::flex()));
        [hidden, predicted].map(|x| Array3::from_shape_vec(x.dims(), values(x)).unwrap())
    }

    #[test]
    fn sessions_give_what_the_full_pass_over_their_context_gives() {
        for slide in [1, 2, 6] {
            let network = network(slide, 0);
            let inputs = random_array([3, 20, 7], 2);
            let model = trained(&network, SIZES, false);
            let mut session = model.session(3);
            let mut randoms = vec![rl755_run::Random::new(0); 3];
            let mut first = 0;
            for step in 0..20 {
                let input = inputs.index_axis(Axis(1), step);
                let (latents, actions) = input.split_at(Axis(1), 5);
                session.step(latents, actions).unwrap();
                let predicted = session.predict(1.0, &mut randoms).unwrap();
                if step - first == SIZES.sequence_length {
                    first += slide;
                }
                let context = inputs.slice(s![.., first..=step, ..]).to_owned();
                let [hidden, expected] = full_pass(&network, &context);
                let last = step - first;
                assert_close(session.hidden(), hidden.index_axis(Axis(1), last));
                assert_close(predicted.view(), expected.index_axis(Axis(1), last));
            }
        }
    }

    #[test]
    fn sessions_draw_from_the_mixtures_of_the_full_pass() {
        let network = network(6, 2);
        let inputs = random_array([3, 6, 7], 2);
        let model = trained(&network, SIZES, false);
        let mut session = model.session(3);
        for step in 0..6 {
            let input = inputs.index_axis(Axis(1), step);
            let (latents, actions) = input.split_at(Axis(1), 5);
            session.step(latents, actions).unwrap();
        }
        let [_, raw] = full_pass(&network, &inputs);
        let raw = raw.index_axis(Axis(1), 5);
        let randoms = || (0..3).map(rl755_run::Random::new).collect::<Vec<_>>();
        for temperature in [0.0, 0.5, 1.3] {
            let mut expected = ndarray::Array2::zeros((3, 5));
            let flat: Vec<f32> = raw.iter().copied().collect();
            network.prediction().predict(&flat, temperature, &mut randoms(), expected.view_mut());
            let found = session.predict(temperature, &mut randoms()).unwrap();
            assert_close(found.view(), expected.view());
        }
    }

    #[test]
    fn the_default_model_has_as_many_parameters_as_its_documentation_says() {
        let sizes = Sizes { latent: 32, action: 3, sequence_length: 32 };
        let config = TransformerConfig::default();
        let network = Transformer::init(&config, &sizes, &Device::flex()).unwrap();
        assert_eq!(rl755_nn::num_parameters(&network), 4_764_704);
    }

    #[test]
    fn later_steps_do_not_change_earlier_predictions() {
        let network = network(1, 0);
        let inputs = random_array([2, 6, 7], 3);
        let mut changed = inputs.clone();
        changed.slice_mut(s![.., 4.., ..]).fill(9.0);
        let [_, before] = full_pass(&network, &inputs);
        let [_, after] = full_pass(&network, &changed);
        assert_eq!(before.slice(s![.., ..4, ..]), after.slice(s![.., ..4, ..]));
        assert_ne!(before.slice(s![.., 4.., ..]), after.slice(s![.., 4.., ..]));
    }

    #[test]
    fn bad_sizes_are_refused() {
        let check = |change: fn(&mut TransformerConfig), expected: &str| {
            let mut config = TransformerConfig::default();
            change(&mut config);
            let error = Transformer::init(&config, &SIZES, &Device::flex()).unwrap_err();
            assert_eq!(error.to_string(), format!("config of transformer: {expected}"));
        };
        check(|c| c.heads = 3, "3 heads cannot share a hidden_size of 256");
        check(|c| c.layers = 0, "layers is 0; it must be from 1 to 65536");
        check(|c| c.mixtures = 70_000, "mixtures is 70000; it must be from 1 to 65536");
        check(|c| c.dropout = 1.0, "dropout is 1; it must be in 0..1");
        check(|c| c.context_slide = 0, "context_slide is 0; it must be from 1 to 65536");
    }
}
