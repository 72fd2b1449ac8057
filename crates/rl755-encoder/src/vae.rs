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

/// What the VAE for frames of that height and width looks like.
const fn shape(size: usize) -> Shape {
    match size {
        64 => Shape {
            name: "vae-64",
            size,
            first: kernel(4, 2),
            last: kernel(6, 2),
            spread: Spread::LogVariance,
        },
        96 => Shape {
            name: "vae-96",
            size,
            first: kernel(6, 3),
            last: kernel(9, 3),
            spread: Spread::Softplus,
        },
        _ => panic!("there are VAEs for 64×64 and for 96×96"),
    }
}

/// Hyper-parameters of [`Vae`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VaeConfig<const SIZE: usize> {
    /// Numbers in a latent. Default 32.
    #[serde(default = "latent_size")]
    pub latent_size: usize,
    /// Channels after each of the encoder's convolutions; the decoder mirrors them. Default 32,
    /// 64, 128, 256.
    #[serde(default = "channels")]
    pub channels: [usize; 4],
    /// The weight of the KL divergence (Higgins et al. 2017). Default 1.
    #[serde(default = "beta")]
    pub beta: f64,
    /// Free bits, in nats per latent dimension (Kingma et al. 2016): the KL divergence of a frame
    /// costs at least this times the latent size. Default 0.5 for `vae-64`, 0 for `vae-96`.
    #[serde(default = "free_nats::<SIZE>")]
    pub free_nats: f64,
}

// One by one, as serde takes no default of a type with a const parameter.
const fn latent_size() -> usize {
    32
}

const fn channels() -> [usize; 4] {
    [32, 64, 128, 256]
}

const fn beta() -> f64 {
    1.0
}

const fn free_nats<const SIZE: usize>() -> f64 {
    if SIZE == 64 { 0.5 } else { 0.0 }
}

impl<const SIZE: usize> Default for VaeConfig<SIZE> {
    fn default() -> Self {
        let (latent_size, channels) = (latent_size(), channels());
        Self { latent_size, channels, beta: beta(), free_nats: free_nats::<SIZE>() }
    }
}

impl<const SIZE: usize> VaeConfig<SIZE> {
    fn network(&self) -> ConvVaeConfig {
        let Self { latent_size, channels, beta, free_nats } = *self;
        ConvVaeConfig { latent_size, channels, beta, free_nats }
    }
}

/// A convolutional VAE for frames of `SIZE`×`SIZE` pixels; frames of other sizes are resized by
/// area. [`Vae64`] and [`Vae96`] say which layers these are.
///
/// The loss is the squared error summed over the frame plus the KL divergence, floored at the free
/// bits as in World Models' released code; both are averaged over the batch.
#[derive(Module, Debug)]
pub struct Vae<const SIZE: usize> {
    pub(crate) network: ConvVae,
}

/// `vae-64`: the VAE of World Models (Ha & Schmidhuber 2018, appendix A.1), 4,348,547 parameters.
///
/// Convolutions of 32, 64, 128 and 256 channels, kernel 4 and stride 2; mean and logarithm of the
/// variance from linear layers; transposed convolutions of 128, 64, 32 and 3 channels with kernels
/// 5, 5, 6 and 6.
pub type Vae64 = Vae<64>;

/// Hyper-parameters of [`Vae64`].
pub type Vae64Config = VaeConfig<64>;

/// `vae-96`: the VAE of the original project, for CarRacing's whole 96×96 frames.
///
/// As [`Vae64`], with a first convolution of kernel 6 and stride 3, a last transposed one of
/// kernel 9 and stride 3, the standard deviation as a softplus, and no free bits.
pub type Vae96 = Vae<96>;

/// Hyper-parameters of [`Vae96`].
pub type Vae96Config = VaeConfig<96>;

impl<const SIZE: usize> EncoderModel for Vae<SIZE> {
    const NAME: &'static str = shape(SIZE).name;

    type Config = VaeConfig<SIZE>;

    fn input_space(_config: &Self::Config, space: &Space) -> Result<Space, EncoderError> {
        ConvVae::input_space(&shape(SIZE), space)
    }

    fn init(config: &Self::Config, input: &Space, device: &Device) -> Result<Self, EncoderError> {
        Ok(Self { network: ConvVae::init(shape(SIZE), &config.network(), input, device)? })
    }

    fn latent_size(&self) -> usize {
        self.network.latent_size()
    }

    fn activations(&self) -> usize {
        self.network.activations()
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
