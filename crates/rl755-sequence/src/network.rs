//! The [`SequenceNetwork`] trait: what one type must say to be a sequence model that the stages
//! can train, load and use.

use burn::{
    module::Module,
    tensor::{Device, Tensor},
};
use rl755_nn::{Losses, OptimizerConfig, full_precision};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{SequenceCell, SequenceError};

/// The sizes that a sequence model is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Numbers in a latent.
    pub latent: usize,
    /// Numbers in an action.
    pub action: usize,
    /// Steps in a training sequence: the longest context that a model ever learns from.
    pub sequence_length: usize,
}

impl Sizes {
    /// Numbers that a model takes in at a step: the latent, then the action.
    pub fn input(&self) -> usize {
        self.latent + self.action
    }
}

/// A batch of training sequences.
#[derive(Clone, Debug)]
pub struct SequenceBatch {
    /// The latents seen, `[batch, length, latent]`.
    pub latents: Tensor<3>,
    /// The actions chosen there, `[batch, length, action]`.
    pub actions: Tensor<3>,
    /// What to predict, `[batch, length, latent]`: the next latents, or how they differ from those
    /// seen.
    pub targets: Tensor<3>,
    /// The rewards of the actions, `[batch, length]`.
    pub rewards: Tensor<2>,
    /// 1 where the task ended with the action, else 0, `[batch, length]`.
    pub terminals: Tensor<2>,
    /// 1 where a latent followed, 0 where the task ended and none did, `[batch, length]`: what is
    /// in `targets` there means nothing. `None` where one always did.
    pub followed: Option<Tensor<2>>,
}

impl SequenceBatch {
    /// Latents and actions side by side, `[batch, length, latent + action]`.
    pub fn inputs(&self) -> Tensor<3> {
        Tensor::cat(vec![self.latents.clone(), self.actions.clone()], 2)
    }

    /// The mean of the losses of predicted latents, `[batch · length]`, over the steps of each
    /// sequence that a latent followed, then over sequences.
    pub fn mean_latent_loss(&self, losses: Tensor<1>) -> Tensor<1> {
        let Some(followed) = &self.followed else { return losses.mean() };
        let (shape, followed) = (followed.dims(), full_precision(followed.clone()));
        let counts = followed.clone().sum_dim(1).clamp_min(1.0);
        ((losses.reshape(shape) * followed).sum_dim(1) / counts).mean()
    }
}

/// A sequence model as a burn module. Implementing it and its [`SequenceCell`] is all a new model
/// needs, beside [`SequenceRegistry::add`](crate::SequenceRegistry::add).
pub trait SequenceNetwork: Module + 'static {
    /// The name on the command line and in manifests.
    const NAME: &'static str;

    /// Whether it can be trained to predict differences between latents. It can unless it says
    /// otherwise.
    const DIFFERENCE_TARGETS: bool = true;

    /// Its hyper-parameters. Should refuse unknown fields (`serde(deny_unknown_fields)`) and have
    /// defaults for missing ones (`serde(default)`).
    type Config: Serialize + DeserializeOwned + Default;

    /// Its trained form.
    type Cell: SequenceCell;

    /// A model with fresh weights.
    ///
    /// # Errors
    /// On a bad value in `config`.
    fn init(config: &Self::Config, sizes: &Sizes, device: &Device) -> Result<Self, SequenceError>;

    /// Numbers in the outputs of all layers for one sequence, about, as training keeps them for a
    /// whole batch: what bounds its size before memory is taken. Sizes can be any, so that sums and
    /// products of them should saturate. Default 0: only the sequence itself is counted.
    fn activations(_config: &Self::Config, _sizes: &Sizes) -> usize {
        0
    }

    /// What training minimises for `batch`, averaged over batch, steps and latent dimensions; for
    /// latents over the steps that one followed ([`SequenceBatch::mean_latent_loss`]).
    fn losses(&self, batch: &SequenceBatch) -> Losses;

    /// The trained form of these weights.
    fn cell(&self) -> Self::Cell;

    /// How a model of this `config` is trained unless the user says otherwise.
    fn default_optimizer(_config: &Self::Config) -> OptimizerConfig {
        OptimizerConfig::default()
    }

    /// The loss of a prediction that just repeats the last latent, which shows what a loss is
    /// worth; where it has other parts too, `latent_loss` among them is meant. `squared_changes`
    /// has, for each latent dimension, the mean squared difference between consecutive latents.
    fn baseline(&self, _squared_changes: &[f64]) -> Option<f64> {
        None
    }
}
