//! The convolutional variational autoencoder that both papers use, in two shapes.

use burn::{
    module::Module,
    nn::{
        Linear,
        conv::{Conv2d, ConvTranspose2d},
    },
    tensor::{Device, Tensor, activation::sigmoid},
};
use rl755_env::Space;
use rl755_kernels::Activation;
use rl755_nn::{Losses, linear, standard_normal};

use crate::{
    EncoderError, Latents, VariationalSettings,
    conv_settings::{MOST, wrong},
    frozen_conv::{FrozenConvEncoder, Spread},
    layers::{Kernel, conv, convolve, deconv, deconvolve, kernel},
};

/// What the two shapes differ in. The other kernels are the same: 4 with stride 2 three times in
/// the encoder, 5, 5 and 6 with stride 2 in the decoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    /// The encoder's name.
    pub(crate) name: &'static str,
    /// Height and width of a frame.
    pub(crate) size: usize,
    /// The encoder's first convolution.
    pub(crate) first: Kernel,
    /// The decoder's last transposed convolution.
    pub(crate) last: Kernel,
    /// How the standard deviation is parametrised.
    pub(crate) spread: Spread,
}

const DOWN: Kernel = kernel(4, 2);
const UP: [Kernel; 3] = [kernel(5, 2), kernel(5, 2), kernel(6, 2)];

/// Hyper-parameters of the convolutional VAEs, `vae-64` and `vae-96`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConvVaeConfig {
    pub(crate) latent_size: usize,
    pub(crate) channels: [usize; 4],
    pub(crate) beta: f64,
    pub(crate) free_nats: f64,
}

impl ConvVaeConfig {
    pub(crate) fn check(&self, name: &str) -> Result<(), EncoderError> {
        let wrong = |reason| Err(wrong(name, reason));
        let sizes = 1..=MOST;
        if !sizes.contains(&self.latent_size) {
            let size = self.latent_size;
            return wrong(format!("latent_size is {size}; it must be from 1 to {MOST}"));
        }
        if !self.channels.iter().all(|channels| sizes.contains(channels)) {
            let channels = self.channels;
            return wrong(format!("channels are {channels:?}; each must be from 1 to {MOST}"));
        }
        self.variational(Spread::LogVariance).check(name)
    }

    fn variational(&self, std_dev: Spread) -> VariationalSettings {
        VariationalSettings { beta: self.beta, free_nats: self.free_nats, std_dev }
    }
}

/// The network, its loss and its use.
#[derive(Module, Debug)]
pub(crate) struct ConvVae {
    conv1: Conv2d,
    conv2: Conv2d,
    conv3: Conv2d,
    conv4: Conv2d,
    mean: Linear,
    spread: Linear,
    decode: Linear,
    deconv1: ConvTranspose2d,
    deconv2: ConvTranspose2d,
    deconv3: ConvTranspose2d,
    deconv4: ConvTranspose2d,
    #[module(skip)]
    shape: Shape,
    #[module(skip)]
    input: Space,
    #[module(skip)]
    config: ConvVaeConfig,
}

impl ConvVae {
    /// Frames of `space` resized to what `shape` takes.
    pub(crate) fn input_space(shape: &Shape, space: &Space) -> Result<Space, EncoderError> {
        let Space::Image { channels, .. } = *space else {
            return Err(EncoderError::Space {
                encoder: shape.name.to_owned(),
                expected: "frames".to_owned(),
                found: space.to_string(),
            });
        };
        Ok(Space::Image { height: shape.size, width: shape.size, channels })
    }

    /// A network with fresh weights for frames of `input`.
    pub(crate) fn init(
        shape: Shape,
        config: &ConvVaeConfig,
        input: &Space,
        device: &Device,
    ) -> Result<Self, EncoderError> {
        config.check(shape.name)?;
        let wanted = Self::input_space(&shape, input)?;
        let Space::Image { channels: colours, .. } = wanted else { unreachable!("just made") };
        if wanted != *input {
            return Err(EncoderError::Space {
                encoder: shape.name.to_owned(),
                expected: wanted.to_string(),
                found: input.to_string(),
            });
        }
        let [c1, c2, c3, c4] = config.channels;
        let features = 4 * c4;
        Ok(Self {
            conv1: conv(colours, c1, shape.first, device),
            conv2: conv(c1, c2, DOWN, device),
            conv3: conv(c2, c3, DOWN, device),
            conv4: conv(c3, c4, DOWN, device),
            mean: linear(features, config.latent_size, device),
            spread: linear(features, config.latent_size, device),
            decode: linear(config.latent_size, features, device),
            deconv1: deconv(features, c3, UP[0], device),
            deconv2: deconv(c3, c2, UP[1], device),
            deconv3: deconv(c2, c1, UP[2], device),
            deconv4: deconv(c1, colours, shape.last, device),
            shape,
            input: wanted,
            config: config.clone(),
        })
    }

    pub(crate) fn latent_size(&self) -> usize {
        self.config.latent_size
    }

    /// Numbers that the layers give for one frame.
    pub(crate) fn activations(&self) -> usize {
        let [c1, c2, c3, c4] = self.config.channels;
        let encoder = 31 * 31 * c1 + 14 * 14 * c2 + 6 * 6 * c3 + 2 * 2 * c4;
        encoder + 4 * c4 + 5 * 5 * c3 + 13 * 13 * c2 + 30 * 30 * c1 + self.input.width()
    }

    /// The nats of KL that cost nothing.
    pub(crate) fn kl_floor(&self) -> f64 {
        self.variational().kl_floor(self.config.latent_size)
    }

    /// Mean and raw spread, `[batch, latent]` each, of observations `[batch, width]`.
    fn posterior(&self, observations: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
        let Space::Image { height, width, channels } = self.input else {
            unreachable!("checked in init")
        };
        let batch = observations.dims()[0];
        let x = observations.reshape([batch, height, width, channels]);
        let x = convolve(&self.conv1, x, Activation::Relu); // [batch, 31, 31, c1]
        let x = convolve(&self.conv2, x, Activation::Relu); // [batch, 14, 14, c2]
        let x = convolve(&self.conv3, x, Activation::Relu); // [batch, 6, 6, c3]
        let x = convolve(&self.conv4, x, Activation::Relu); // [batch, 2, 2, c4]
        // The weights are for the channel first.
        let x: Tensor<2> = x.permute([0, 3, 1, 2]).flatten(1, 3); // [batch, c4 · 4]
        (self.mean.forward(x.clone()), self.spread.forward(x))
    }

    fn variational(&self) -> VariationalSettings {
        self.config.variational(self.shape.spread)
    }

    /// Squared error summed over a frame, plus β times the KL divergence, which is floored for
    /// each frame at the free nats; both averaged over the batch.
    pub(crate) fn losses(&self, observations: Tensor<2>) -> Losses {
        let shape = [observations.dims()[0], self.latent_size()];
        let noise = standard_normal(shape, &observations.device());
        self.losses_with(observations, noise)
    }

    /// [`losses`](Self::losses) with the noise of the latents, `[batch, latent]`.
    pub(crate) fn losses_with(&self, observations: Tensor<2>, noise: Tensor<2>) -> Losses {
        let posterior = self.posterior(observations.clone());
        let reconstruct = |latents| self.reconstruct(latents);
        self.variational().losses_with(noise, observations, posterior, reconstruct)
    }

    pub(crate) fn represent(&self, observations: Tensor<2>) -> Latents {
        let (mean, spread) = self.posterior(observations);
        let std_dev = Some(self.variational().deviation(spread));
        Latents { mean, std_dev, extras: Default::default() }
    }

    /// Frames, `[batch, width]` in 0..=1, from latents, `[batch, latent]`.
    pub(crate) fn reconstruct(&self, latents: Tensor<2>) -> Tensor<2> {
        let x = self.decode.forward(latents);
        let [batch, features] = x.dims();
        let x = x.reshape([batch, 1, 1, features]);
        let x = deconvolve(&self.deconv1, x, Activation::Relu); // [batch, 5, 5, c3]
        let x = deconvolve(&self.deconv2, x, Activation::Relu); // [batch, 13, 13, c2]
        let x = deconvolve(&self.deconv3, x, Activation::Relu); // [batch, 30, 30, c1]
        sigmoid(deconvolve(&self.deconv4, x, Activation::None)).flatten(1, 3)
    }

    /// The encoder without tensors.
    pub(crate) fn on_cpu(&self) -> FrozenConvEncoder {
        let convs = [&self.conv1, &self.conv2, &self.conv3, &self.conv4];
        let Space::Image { channels, .. } = self.input else { unreachable!("checked in init") };
        FrozenConvEncoder::new(
            (self.shape.size, channels),
            &convs,
            &self.mean,
            &self.spread,
            self.shape.spread,
        )
    }
}
