//! The convolutional variational autoencoder that both papers use, in two shapes.

use burn::{
    module::Module,
    nn::{
        Linear,
        conv::{Conv2d, ConvTranspose2d},
    },
    tensor::{
        Device, Tensor,
        activation::{log_sigmoid, sigmoid},
    },
};
use rl755_env::Space;
use rl755_kernels::Activation;
use rl755_nn::{Losses, full_precision, standard_normal, watch};

use crate::{
    EncoderError, Latents,
    frozen_conv::{FrozenVae, Spread},
    layers::{Kernel, conv, convolve, deconv, deconvolve, kernel, linear},
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

/// The most channels and latent numbers: with more, a slip of the finger would take all memory.
const MOST: usize = 65_536;

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
        let wrong = |reason: String| Err(EncoderError::Config { encoder: name.to_owned(), reason });
        let sizes = 1..=MOST;
        if !sizes.contains(&self.latent_size) {
            let size = self.latent_size;
            return wrong(format!("latent_size is {size}; it must be from 1 to {MOST}"));
        }
        if !self.channels.iter().all(|channels| sizes.contains(channels)) {
            let channels = self.channels;
            return wrong(format!("channels are {channels:?}; each must be from 1 to {MOST}"));
        }
        for (field, value) in [("beta", self.beta), ("free_nats", self.free_nats)] {
            if !(value.is_finite() && value >= 0.0) {
                return wrong(format!("{field} is {value}; it must be at least 0"));
            }
        }
        Ok(())
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

    /// The nats of KL that cost nothing.
    pub(crate) fn kl_floor(&self) -> f64 {
        self.config.free_nats * self.config.latent_size as f64
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

    /// σ from the raw spread.
    fn std_dev(&self, spread: Tensor<2>) -> Tensor<2> {
        match self.shape.spread {
            Spread::LogVariance => spread.mul_scalar(0.5).exp(),
            // softplus(x) = -ln sigmoid(-x), which does not overflow.
            Spread::Softplus => log_sigmoid(spread.neg()).neg(),
        }
    }

    /// The KL divergence of N(μ, σ²) from N(0, 1) for each row, `[batch, 1]` (Kingma & Welling
    /// 2014, appendix B).
    fn kl(&self, mean: &Tensor<2>, spread: Tensor<2>, std_dev: Tensor<2>) -> Tensor<2> {
        let log_variance = match self.shape.spread {
            Spread::LogVariance => spread,
            // A σ that rounds to 0 must not give an infinite loss.
            Spread::Softplus => std_dev.clone().add_scalar(1e-12).log().mul_scalar(2.0),
        };
        let terms = mean.clone().square() + std_dev.square() - log_variance - 1.0;
        terms.sum_dim(1).mul_scalar(0.5)
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
        let (mean, spread) = self.posterior(observations.clone());
        let std_dev = self.std_dev(spread.clone());
        watch("the latents' mean", &mean);
        watch("the latents' standard deviation", &std_dev);
        let kl = self.kl(
            &full_precision(mean.clone()),
            full_precision(spread),
            full_precision(std_dev.clone()),
        );
        let reconstructed = self.reconstruct(mean + std_dev * noise);
        watch("the reconstruction", &reconstructed);
        let error = full_precision(reconstructed) - full_precision(observations);
        // Rows first: a sum over the whole batch at once would depend on the number of threads.
        let reconstruction = error.square().sum_dim(1).mean();
        let floored = kl.clone().clamp_min(self.kl_floor()).mean();
        let total = reconstruction.clone() + floored.mul_scalar(self.config.beta);
        Losses { total, parts: vec![("reconstruction", reconstruction), ("kl", kl.mean())] }
    }

    pub(crate) fn represent(&self, observations: Tensor<2>) -> Latents {
        let (mean, spread) = self.posterior(observations);
        let std_dev = Some(self.std_dev(spread));
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
    pub(crate) fn on_cpu(&self) -> FrozenVae {
        let convs = [&self.conv1, &self.conv2, &self.conv3, &self.conv4];
        let Space::Image { channels, .. } = self.input else { unreachable!("checked in init") };
        FrozenVae::new(
            (self.shape.size, channels),
            &convs,
            &self.mean,
            &self.spread,
            self.shape.spread,
        )
    }
}
