//! `vae`: the variational autoencoder for frames of any size.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Device, Tensor},
};
use rl755_env::Space;
use rl755_nn::{Losses, linear};
use serde::{Deserialize, Serialize};

use crate::{
    ConvSettings, CpuEncoder, EncoderError, EncoderModel, Latents, VariationalSettings,
    conv_stack::{ConvDecoder, ConvEncoder},
};

/// Hyper-parameters of [`FrameVae`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrameVaeConfig {
    /// Frames, layers and latent.
    #[serde(flatten)]
    pub convolutions: ConvSettings,
    /// Loss and standard deviation.
    #[serde(flatten)]
    pub variational: VariationalSettings,
}

/// `vae`: a convolutional VAE for frames of any size; [`ConvSettings`] says which layers these are,
/// [`VariationalSettings`] what is minimised.
///
/// For frames of 64×64 its encoder is that of [`Vae64`](crate::Vae64), its decoder begins at 2×2
/// where that one begins at 1×1.
#[derive(Module, Debug)]
pub struct FrameVae {
    encoder: ConvEncoder,
    mean: Linear,
    spread: Linear,
    decoder: ConvDecoder,
    #[module(skip)]
    pub(crate) variational: VariationalSettings,
}

impl FrameVae {
    /// Mean and what the standard deviation is made of, `[batch, latent]` each.
    pub(crate) fn posterior(&self, observations: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
        let features = self.encoder.forward(observations);
        (self.mean.forward(features.clone()), self.spread.forward(features))
    }
}

impl EncoderModel for FrameVae {
    const NAME: &'static str = "vae";

    type Config = FrameVaeConfig;

    fn input_space(config: &FrameVaeConfig, space: &Space) -> Result<Space, EncoderError> {
        config.convolutions.input_space(Self::NAME, space)
    }

    fn init(config: &FrameVaeConfig, input: &Space, device: &Device) -> Result<Self, EncoderError> {
        let FrameVaeConfig { convolutions, variational } = config;
        let levels = convolutions.levels(Self::NAME, input)?;
        variational.check(Self::NAME)?;
        let encoder = ConvEncoder::new(&levels, device);
        let (features, latent) = (encoder.features(), convolutions.latent_size);
        Ok(Self {
            encoder,
            mean: linear(features, latent, device),
            spread: linear(features, latent, device),
            decoder: ConvDecoder::new(latent, &levels, device),
            variational: variational.clone(),
        })
    }

    fn latent_size(&self) -> usize {
        self.mean.weight.dims()[1]
    }

    fn activations(&self) -> usize {
        self.encoder.activations() + self.decoder.activations()
    }

    fn losses(&self, observations: Tensor<2>) -> Losses {
        let posterior = self.posterior(observations.clone());
        self.variational.losses(observations, posterior, |latents| self.decoder.forward(latents))
    }

    fn kl_floor(&self) -> f64 {
        self.variational.kl_floor(self.latent_size())
    }

    fn represent(&self, observations: Tensor<2>) -> Latents {
        let (mean, spread) = self.posterior(observations);
        let std_dev = Some(self.variational.deviation(spread));
        Latents { mean, std_dev, extras: Default::default() }
    }

    fn reconstruct(&self, latents: Tensor<2>) -> Option<Tensor<2>> {
        Some(self.decoder.forward(latents))
    }

    fn on_cpu(&self) -> Option<Box<dyn CpuEncoder>> {
        let heads = [&self.mean, &self.spread];
        Some(Box::new(self.encoder.on_cpu(&heads, Some(self.variational.std_dev))))
    }
}
