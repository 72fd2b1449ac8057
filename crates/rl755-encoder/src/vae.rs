//! The VAEs by name: World Models' for 64×64 frames, the original project's for 96×96 ones.

use burn::{
    module::Module,
    tensor::{Device, Tensor},
};
use rl755_env::Space;
use rl755_nn::Losses;
use serde::{Deserialize, Serialize};

use crate::{
    CpuEncoder, EncoderError, EncoderModel, Latents,
    conv_vae::{ConvVae, ConvVaeConfig, Shape},
    frozen_conv::Spread,
    layers::kernel,
};

const SHAPE_64: Shape = Shape {
    name: "vae-64",
    size: 64,
    first: kernel(4, 2),
    last: kernel(6, 2),
    spread: Spread::LogVariance,
};

const SHAPE_96: Shape = Shape {
    name: "vae-96",
    size: 96,
    first: kernel(6, 3),
    last: kernel(9, 3),
    spread: Spread::Softplus,
};

/// Hyper-parameters of [`Vae64`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Vae64Config {
    /// Numbers in a latent. Default 32.
    pub latent_size: usize,
    /// Channels after each of the encoder's convolutions; the decoder mirrors them. Default 32,
    /// 64, 128, 256.
    pub channels: [usize; 4],
    /// The weight of the KL divergence (Higgins et al. 2017). Default 1.
    pub beta: f64,
    /// Free bits, in nats per latent dimension (Kingma et al. 2016): the KL divergence of a frame
    /// costs at least this times the latent size. Default 0.5.
    pub free_nats: f64,
}

impl Default for Vae64Config {
    fn default() -> Self {
        Self { latent_size: 32, channels: [32, 64, 128, 256], beta: 1.0, free_nats: 0.5 }
    }
}

impl Vae64Config {
    fn network(&self) -> ConvVaeConfig {
        let Self { latent_size, channels, beta, free_nats } = *self;
        ConvVaeConfig { latent_size, channels, beta, free_nats }
    }
}

/// `vae-64`: the VAE of World Models (Ha & Schmidhuber 2018, appendix A.1), 4,348,547 parameters.
///
/// Frames of any size are resized to 64×64 by area. Convolutions of 32, 64, 128 and 256 channels,
/// kernel 4 and stride 2; mean and logarithm of the variance from linear layers; transposed
/// convolutions of 128, 64, 32 and 3 channels with kernels 5, 5, 6 and 6. The loss is the squared
/// error summed over the frame plus the KL divergence, floored at 0.5 nats per latent dimension
/// as in the released code; both are averaged over the batch.
#[derive(Module, Debug)]
pub struct Vae64 {
    network: ConvVae,
}

impl EncoderModel for Vae64 {
    const NAME: &'static str = SHAPE_64.name;

    type Config = Vae64Config;

    fn input_space(_config: &Vae64Config, space: &Space) -> Result<Space, EncoderError> {
        ConvVae::input_space(&SHAPE_64, space)
    }

    fn init(config: &Vae64Config, input: &Space, device: &Device) -> Result<Self, EncoderError> {
        Ok(Self { network: ConvVae::init(SHAPE_64, &config.network(), input, device)? })
    }

    fn latent_size(&self) -> usize {
        self.network.latent_size()
    }

    fn losses(&self, observations: Tensor<2>) -> Losses {
        self.network.losses(observations)
    }

    fn kl_floor(&self) -> f64 {
        self.network.kl_floor()
    }

    fn represent(&self, observations: Tensor<2>) -> Latents {
        self.network.represent(observations)
    }

    fn reconstruct(&self, latents: Tensor<2>) -> Option<Tensor<2>> {
        Some(self.network.reconstruct(latents))
    }

    fn on_cpu(&self) -> Option<Box<dyn CpuEncoder>> {
        Some(Box::new(self.network.on_cpu()))
    }
}

/// Hyper-parameters of [`Vae96`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Vae96Config {
    /// Numbers in a latent. Default 32.
    pub latent_size: usize,
    /// Channels after each of the encoder's convolutions; the decoder mirrors them. Default 32,
    /// 64, 128, 256.
    pub channels: [usize; 4],
    /// The weight of the KL divergence (Higgins et al. 2017). Default 1.
    pub beta: f64,
    /// Free bits, in nats per latent dimension (Kingma et al. 2016). Default 0.
    pub free_nats: f64,
}

impl Default for Vae96Config {
    fn default() -> Self {
        Self { latent_size: 32, channels: [32, 64, 128, 256], beta: 1.0, free_nats: 0.0 }
    }
}

impl Vae96Config {
    fn network(&self) -> ConvVaeConfig {
        let Self { latent_size, channels, beta, free_nats } = *self;
        ConvVaeConfig { latent_size, channels, beta, free_nats }
    }
}

/// `vae-96`: the VAE of the original project, for CarRacing's whole 96×96 frames.
///
/// As [`Vae64`], with a first convolution of kernel 6 and stride 3, a last transposed one of
/// kernel 9 and stride 3, the standard deviation as a softplus, and no free bits. Frames of other
/// sizes are resized to 96×96 by area.
#[derive(Module, Debug)]
pub struct Vae96 {
    network: ConvVae,
}

impl EncoderModel for Vae96 {
    const NAME: &'static str = SHAPE_96.name;

    type Config = Vae96Config;

    fn input_space(_config: &Vae96Config, space: &Space) -> Result<Space, EncoderError> {
        ConvVae::input_space(&SHAPE_96, space)
    }

    fn init(config: &Vae96Config, input: &Space, device: &Device) -> Result<Self, EncoderError> {
        Ok(Self { network: ConvVae::init(SHAPE_96, &config.network(), input, device)? })
    }

    fn latent_size(&self) -> usize {
        self.network.latent_size()
    }

    fn losses(&self, observations: Tensor<2>) -> Losses {
        self.network.losses(observations)
    }

    fn kl_floor(&self) -> f64 {
        self.network.kl_floor()
    }

    fn represent(&self, observations: Tensor<2>) -> Latents {
        self.network.represent(observations)
    }

    fn reconstruct(&self, latents: Tensor<2>) -> Option<Tensor<2>> {
        Some(self.network.reconstruct(latents))
    }

    fn on_cpu(&self) -> Option<Box<dyn CpuEncoder>> {
        Some(Box::new(self.network.on_cpu()))
    }
}
