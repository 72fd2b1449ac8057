//! The [`EncoderModel`] trait: what one type must say to be an encoder that the stages can train,
//! load and use.

use std::collections::BTreeMap;

use burn::{
    module::Module,
    tensor::{Device, Tensor},
};
use rl755_env::Space;
use rl755_nn::Losses;
use serde::{Serialize, de::DeserializeOwned};

use crate::EncoderError;

/// What a model says about a batch of observations.
#[derive(Clone, Debug)]
pub struct Latents {
    /// The mean of the latents, `[batch, latent]`: what is stored and what controllers see.
    pub mean: Tensor<2>,
    /// Their standard deviation, `[batch, latent]`; `None` for deterministic encoders.
    pub std_dev: Option<Tensor<2>>,
    /// Anything else, by name, `[batch, width]` each, as [`EncoderModel::extras`] says.
    pub extras: BTreeMap<String, Tensor<2>>,
}

/// An encoder as a burn module. Implementing it is all a new encoder needs, beside
/// [`EncoderRegistry::add`](crate::EncoderRegistry::add).
///
/// Observations come as `[batch, width]`, each row one element of the model's
/// [`input_space`](Self::input_space), row-major: frames as `[height, width, channel]` scaled to
/// 0..=1 ([`frames`](crate::frames) gives the tensor that convolutions take), vectors as they
/// are.
pub trait EncoderModel: Module + Sync + 'static {
    /// The name on the command line and in manifests.
    const NAME: &'static str;

    /// Its hyper-parameters. Should refuse unknown fields (`serde(deny_unknown_fields)`) and have
    /// defaults for missing ones (`serde(default)`).
    type Config: Serialize + DeserializeOwned + Default;

    /// The space that observations of `space` are brought into before the model sees them. Frames
    /// can be resized, by area; nothing else can be changed.
    ///
    /// # Errors
    /// [`EncoderError::Space`] when the model cannot take such observations.
    fn input_space(_config: &Self::Config, space: &Space) -> Result<Space, EncoderError> {
        Ok(space.clone())
    }

    /// A model with fresh weights, for observations of `input`, its input space.
    ///
    /// # Errors
    /// On a bad value in `config`, or observations that the model cannot take.
    fn init(config: &Self::Config, input: &Space, device: &Device) -> Result<Self, EncoderError>;

    /// The fewest observations that a batch must have on each device, at least 1. Default 1.
    const LEAST_BATCH: usize = 1;

    /// How many observations [`fit`](Self::fit) is given. Default 0: none.
    const FITTED_TO: usize = 0;

    /// Measures what it needs to know of the data before training, such as means and deviations
    /// to normalise by, once, from [`FITTED_TO`](Self::FITTED_TO) observations of the training split,
    /// or up to a batch more, one row after another; how long it trains makes no difference. What it
    /// keeps should be parameters, so that checkpoints have it.
    fn fit(&mut self, _observations: &[f32]) {}

    /// Numbers in a latent.
    fn latent_size(&self) -> usize;

    /// Numbers in the outputs of all layers for one observation, about, as training keeps them for a
    /// whole batch: what bounds its size before memory is taken. Default 0: only the observations
    /// themselves are counted.
    fn activations(&self) -> usize {
        0
    }

    /// What training minimises for `observations`, `[batch, width]`, averaged over the batch.
    ///
    /// Noise should be drawn with [`rl755_nn::standard_normal`], which is the same on every device.
    /// A part called `kl` (in nats, summed over the latent, averaged over the batch) is watched
    /// for posterior collapse.
    fn losses(&self, observations: Tensor<2>) -> Losses;

    /// The part `kl` of the losses that costs nothing (free bits), in nats. Default 0.
    fn kl_floor(&self) -> f64 {
        0.0
    }

    /// Encodes `observations`, `[batch, width]`.
    fn represent(&self, observations: Tensor<2>) -> Latents;

    /// The extras that [`represent`](Self::represent) gives for every observation: their names (1 to
    /// 64 ASCII letters, digits, `_`, `-` and `.`) and widths, at least 1. They are stored in encoded
    /// datasets. Default none.
    fn extras(&self) -> BTreeMap<String, usize> {
        BTreeMap::new()
    }

    /// Turns `latents`, `[batch, latent]`, back into observations, `[batch, width]`; `None` for
    /// models without a decoder.
    fn reconstruct(&self, _latents: Tensor<2>) -> Option<Tensor<2>> {
        None
    }

    /// A faster way to [`represent`](Self::represent) on the CPU, with these weights, if there is
    /// one. It is used on flex devices only, and not where there are [extras](Self::extras).
    fn on_cpu(&self) -> Option<Box<dyn CpuEncoder>> {
        None
    }
}

/// A frozen encoder on the CPU, without tensors.
pub trait CpuEncoder: Send + Sync {
    /// Encodes whole observations of the input space, one after another, into `mean` and
    /// `std_dev`, `[batch, latent]` each. The result of a row does not depend on its batch.
    /// Called from several threads at once.
    fn encode(&self, observations: &[f32], mean: &mut [f32], std_dev: Option<&mut [f32]>);

    /// Whether it gives standard deviations.
    fn is_stochastic(&self) -> bool;
}
