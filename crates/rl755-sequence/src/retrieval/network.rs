//! The retrieving transformer as a network in training.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Bool, Device, Tensor, TensorData, activation::softmax},
};
use rl755_kernels::gelu;
use rl755_nn::{Losses, OptimizerConfig, full_precision, values, watch};
use serde::{Deserialize, Serialize};

use crate::{
    RetrievalCell, SequenceBatch, SequenceError, SequenceNetwork, Sizes, Transformer,
    TransformerConfig,
    layers::{apply_linear, linear},
    model_config::check_size,
    retrieval::windows::{Cut, top},
};

/// The score of a window that is not retrieved.
const NEVER: f32 = -1e9;

/// Hyper-parameters of [`Retrieval`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetrievalConfig {
    /// Steps that the transformer sees. Training sequences must be longer: what lies before the
    /// context is the history. Default 16.
    pub context: usize,
    /// Steps in a window of the history. Default 4.
    pub window: usize,
    /// Steps from the beginning of a window to that of the next. Default 2.
    pub stride: usize,
    /// Windows that are retrieved at a step, those with the highest scores. Default 4.
    pub top_k: usize,
    /// Numbers in a key. Default 64.
    pub key_size: usize,
    /// Windows that are remembered, the newest ones of the episode. Default 256.
    pub most_windows: usize,
    /// The transformer. Its `context_slide` is how many steps leave the context at once (default
    /// 8): in training, sequences are cut into contexts that far from one another.
    pub transformer: TransformerConfig,
}

impl Default for RetrievalConfig {
    fn default() -> Self {
        Self {
            context: 16,
            window: 4,
            stride: 2,
            top_k: 4,
            key_size: 64,
            most_windows: 256,
            transformer: TransformerConfig::default(),
        }
    }
}

impl RetrievalConfig {
    fn cut(&self, sizes: &Sizes) -> Result<Cut, SequenceError> {
        let name = Retrieval::NAME;
        for (field, value) in [
            ("context", self.context),
            ("window", self.window),
            ("stride", self.stride),
            ("top_k", self.top_k),
            ("key_size", self.key_size),
            ("most_windows", self.most_windows),
            ("transformer.context_slide", self.transformer.context_slide),
        ] {
            check_size(name, field, value)?;
        }
        let Self { context, window, stride, most_windows, .. } = *self;
        let slide = self.transformer.context_slide.min(context);
        let cut = Cut { context, slide, window, stride, most_windows };
        let length = sizes.sequence_length;
        if cut.windows_before(cut.first(length.saturating_sub(1))) == 0 {
            // The first step whose context begins after a whole window.
            let enough = context + (window.div_ceil(slide) - 1) * slide + 1;
            let reason = format!(
                "no window of {window} steps lies before a context of {context} in training \
                 sequences of {length}: the sequence length must be at least {enough}, better a \
                 few times the context"
            );
            return Err(SequenceError::config(name, reason));
        }
        Ok(cut)
    }
}

/// `retrieval`: a transformer that looks up what happened earlier in the episode.
///
/// The transformer sees the last `context` steps. The steps before them are cut into windows of
/// `window` steps, `stride` steps apart. From the latents and actions of a window, one network
/// computes a key and another a value. The query is a linear function of the transformer's hidden
/// state; the score of a window is query · key / √`key_size`. The values of the `top_k` windows
/// with the highest scores are added up, weighted by the softmax of these scores, through which
/// the keys learn. A feed-forward network joins this sum to what the transformer's last layer
/// gives, and the next latent is predicted from the result with the loss of the transformer: the
/// mean squared error, or with `mixtures` the negative log-likelihood, per latent dimension. The
/// original project weighted predictions in the same way; joining values in the hidden state is
/// what kNN look-ups became in RETRO (Borgeaud et al. 2022).
///
/// In training the history of a step is the earlier part of its training sequence, so sequences
/// have to be longer than `context`; following an episode, it is the whole episode so far, up to
/// `most_windows` windows, and only their keys and values are kept.
///
/// The hidden state that controllers see is that from which the next latent is predicted, with
/// what was retrieved in it.
///
/// With latents of 32, actions of 3 and the default sizes it has 5,719,200 parameters.
#[derive(Module, Debug)]
pub struct Retrieval {
    pub(super) transformer: Transformer,
    pub(super) query: Linear,
    pub(super) key: Encoding,
    pub(super) value: Encoding,
    /// From what the transformer gives and what was retrieved, side by side.
    pub(super) expansion: Linear,
    pub(super) contraction: Linear,
    #[module(skip)]
    pub(super) cut: Cut,
    pub(super) top_k: usize,
}

/// A window's key or value: a network with one hidden layer.
#[derive(Module, Debug)]
pub(super) struct Encoding {
    pub(super) first: Linear,
    pub(super) second: Linear,
}

impl Encoding {
    fn new(from: usize, width: usize, to: usize, device: &Device) -> Self {
        Self { first: linear(from, width, device), second: linear(width, to, device) }
    }

    /// `windows` is `[batch, windows, window · input]`; gives `[batch, windows, size]`.
    fn forward(&self, windows: Tensor<3>) -> Tensor<3> {
        let [batch, count, size] = windows.dims();
        let hidden = gelu(apply_linear(&self.first, windows.reshape([batch * count, size])));
        apply_linear(&self.second, hidden).reshape([batch as i32, count as i32, -1])
    }
}

impl Retrieval {
    /// The hidden states `[batch, length, width]` and what the next latents are predicted from,
    /// `[batch, length, outputs]`, after each step of `inputs`, `[batch, length, latent + action]`,
    /// whose first step is the first of an episode.
    pub(super) fn forward(&self, inputs: Tensor<3>) -> (Tensor<3>, Tensor<3>) {
        let [batch, length, _] = inputs.dims();
        let (hidden, features) = self.contexts(inputs.clone());
        let width = features.dims()[2];
        let queries = apply_linear(&self.query, hidden.flatten(0, 1));
        let queries = queries.reshape([batch as i32, length as i32, -1]);
        let retrieved = self.retrieve(inputs, queries, width);
        watch("what is retrieved", &retrieved);
        let features = features.reshape([batch * length, width]);
        let both = Tensor::cat(vec![features.clone(), retrieved], 1);
        let wide = gelu(apply_linear(&self.expansion, both));
        let joined = features + apply_linear(&self.contraction, wide);
        watch("what joins the retrieved to the context", &joined);
        let raw = apply_linear(&self.transformer.output, joined.clone());
        let outputs = raw.dims()[1];
        (joined.reshape([batch, length, width]), raw.reshape([batch, length, outputs]))
    }

    /// What the transformer gives at each step, with the context that sessions have there: its
    /// hidden states and last features, `[batch, length, width]`.
    fn contexts(&self, inputs: Tensor<3>) -> (Tensor<3>, Tensor<3>) {
        let [batch, length, size] = inputs.dims();
        let Cut { context, slide, .. } = self.cut;
        let slides = self.cut.slides(length);
        // Nothing looks at the steps after it, so what follows the end does not matter.
        let missing = context + slides * slide - length;
        let zeros = Tensor::zeros([batch, missing, size], &inputs.device());
        let padded = if missing == 0 { inputs } else { Tensor::cat(vec![inputs, zeros], 1) };
        let contexts = (0..=slides).map(|i| padded.clone().narrow(1, i * slide, context)).collect();
        let contexts = Tensor::stack::<4>(contexts, 1); // [batch, contexts, context, input]
        let (hidden, features) =
            self.transformer.features(contexts.reshape([batch * (slides + 1), context, size]));
        // Each context beyond the first is there for its last steps, those that made it move on.
        let steps = |x: Tensor<3>| {
            let width = x.dims()[2];
            let x = x.reshape([batch, slides + 1, context, width]);
            let first = x.clone().narrow(1, 0, 1).reshape([batch, context, width]);
            let joined = if slides == 0 {
                first
            } else {
                let later = x.narrow(1, 1, slides).narrow(2, context - slide, slide);
                Tensor::cat(vec![first, later.reshape([batch, slides * slide, width])], 1)
            };
            joined.narrow(1, 0, length)
        };
        (steps(hidden), steps(features))
    }

    /// What is retrieved at each step of `inputs` for `queries`, `[batch, length, key]`:
    /// `[batch · length, width]`, zeros where there is no history.
    fn retrieve(&self, inputs: Tensor<3>, queries: Tensor<3>, width: usize) -> Tensor<2> {
        let [batch, length, size] = inputs.dims();
        let Cut { window, stride, .. } = self.cut;
        let device = inputs.device();
        let count = self.cut.windows_before(self.cut.first(length - 1));
        if count == 0 {
            return Tensor::zeros([batch * length, width], &device);
        }
        let windows = (0..count)
            .map(|i| inputs.clone().narrow(1, i * stride, window))
            .map(|steps| steps.reshape([batch, 1, window * size]))
            .collect();
        let windows = Tensor::cat(windows, 1);
        let (keys, values) = (self.key.forward(windows.clone()), self.value.forward(windows));
        let scale = 1.0 / (keys.dims()[2] as f64).sqrt();
        let scores = full_precision(queries.matmul(keys.transpose())) * scale;
        let left_out = self.left_out(scores.clone());
        // Where nothing is retrieved all weights are 0.
        let weights =
            softmax(scores.mask_fill(left_out.clone(), NEVER), 2).mask_fill(left_out, 0.0);
        weights.cast(values.dtype()).matmul(values).reshape([batch * length, width])
    }

    /// Which windows are not retrieved, by `scores`, `[batch, length, windows]`.
    fn left_out(&self, scores: Tensor<3>) -> Tensor<3, Bool> {
        let (shape, device) = (scores.dims(), scores.device());
        let [_, length, count] = shape;
        let scores = values(scores.detach());
        let mut left_out = vec![true; scores.len()];
        let rows = scores.chunks_exact(count).zip(left_out.chunks_exact_mut(count));
        for (row, (scores, left_out)) in rows.enumerate() {
            let windows = self.cut.retrievable(self.cut.first(row % length));
            for window in top(&scores[windows.clone()], self.top_k) {
                left_out[windows.start + window] = false;
            }
        }
        Tensor::from_data(TensorData::new(left_out, shape), &device)
    }
}

impl SequenceNetwork for Retrieval {
    const NAME: &'static str = "retrieval";

    type Config = RetrievalConfig;

    type Cell = RetrievalCell;

    fn init(
        config: &RetrievalConfig,
        sizes: &Sizes,
        device: &Device,
    ) -> Result<Self, SequenceError> {
        let cut = config.cut(sizes)?;
        let context = Sizes { sequence_length: config.context, ..*sizes };
        let transformer = Transformer::init(&config.transformer, &context, device)?;
        let TransformerConfig { hidden_size: width, feed_forward_size: wide, .. } =
            config.transformer;
        let window = config.window * sizes.input();
        Ok(Self {
            transformer,
            query: linear(width, config.key_size, device),
            key: Encoding::new(window, width, config.key_size, device),
            value: Encoding::new(window, width, width, device),
            expansion: linear(2 * width, wide, device),
            contraction: linear(wide, width, device),
            cut,
            top_k: config.top_k,
        })
    }

    fn activations(config: &RetrievalConfig, sizes: &Sizes) -> usize {
        let RetrievalConfig { context, window, stride, key_size, transformer, .. } = config;
        let length = sizes.sequence_length;
        let (width, wide) = (transformer.hidden_size, transformer.feed_forward_size);
        let contexts = length / transformer.context_slide.min(*context) + 1;
        let windows = length / stride + 1;
        // A window, its key and value, and the two hidden layers that they come from.
        let encoded = window * sizes.input() + key_size + 5 * width;
        // Scores and weights of windows at a step; what joins the retrieved to the context.
        let step = windows.saturating_mul(4).saturating_add(key_size + 5 * width + 2 * wide);
        let context = Sizes { sequence_length: *context, ..*sizes };
        Transformer::activations(transformer, &context)
            .saturating_mul(contexts)
            .saturating_add(encoded.saturating_mul(windows))
            .saturating_add(step.saturating_mul(length))
    }

    fn losses(&self, batch: &SequenceBatch) -> Losses {
        let (_, raw) = self.forward(batch.inputs());
        let targets = batch.targets.clone().flatten(0, 1);
        let losses = self.transformer.prediction().losses(raw.flatten(0, 1), targets);
        Losses { total: batch.mean_latent_loss(losses), parts: Vec::new() }
    }

    fn cell(&self) -> RetrievalCell {
        RetrievalCell::new(self)
    }

    fn default_optimizer(config: &RetrievalConfig) -> OptimizerConfig {
        Transformer::default_optimizer(&config.transformer)
    }

    fn baseline(&self, squared_changes: &[f64]) -> Option<f64> {
        self.transformer.baseline(squared_changes)
    }
}

#[cfg(test)]
mod tests;
