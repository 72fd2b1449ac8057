//! `mlp`: a fully connected autoencoder, variational or not, for vectors.

use burn::{
    module::{Module, Param},
    nn::Linear,
    tensor::{Device, Tensor, activation::relu},
};
use rl755_env::Space;
use rl755_nn::{Losses, linear, watch};
use serde::{Deserialize, Serialize};

use crate::{
    CpuEncoder, EncoderError, EncoderModel, Latents, VariationalSettings,
    conv_settings::{MOST, wrong},
    frozen_mlp::FrozenMlp,
    variational::squared_error,
};

/// The most hidden layers.
const DEEPEST: usize = 16;

/// How far standardised values may be from 0: an observation unlike any in training must not
/// throw the latents anywhere.
pub(crate) const FARTHEST: f32 = 10.0;

/// Standard deviations below this are of values that do not change: they are only centred.
const CONSTANT: f64 = 1e-6;

/// How observations are brought to like sizes before the network sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// Each value less its mean, over its standard deviation, both measured once before training
    /// on 4,096 observations or more of the training split and kept in the checkpoint; then
    /// limited to ±10.
    Standardize,
    /// sign(x) · ln(1 + |x|), for heavy tails (Hafner et al. 2023, equation 9).
    Symlog,
    /// Not at all.
    None,
}

/// Hyper-parameters of [`Mlp`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MlpConfig {
    /// Numbers in a latent, 1 to 65,536; `None`: as many as an observation has, at most 32.
    /// Default `None`.
    pub latent_size: Option<usize>,
    /// Widths of the encoder's hidden layers, 1 to 65,536 each, at most 16 of them; the decoder
    /// mirrors them. Without any, the encoder is linear. Default 128, 128.
    pub hidden: Vec<usize>,
    /// What is done to observations first. Default `standardize`.
    pub normalize: Normalization,
    /// Whether it is a variational autoencoder; `beta`, `free_nats` and `std_dev` count only
    /// then. Default false, as there is little to leave out of a vector.
    pub variational: bool,
    /// The variational loss.
    #[serde(flatten)]
    pub posterior: VariationalSettings,
}

impl Default for MlpConfig {
    fn default() -> Self {
        Self {
            latent_size: None,
            hidden: vec![128, 128],
            normalize: Normalization::Standardize,
            variational: false,
            posterior: VariationalSettings { free_nats: 0.0, ..VariationalSettings::default() },
        }
    }
}

impl MlpConfig {
    fn check(&self) -> Result<(), EncoderError> {
        let sizes = 1..=MOST;
        if let Some(size) = self.latent_size
            && !sizes.contains(&size)
        {
            let reason = format!("latent_size is {size}; it must be from 1 to {MOST}");
            return Err(wrong(Mlp::NAME, reason));
        }
        let hidden = &self.hidden;
        if hidden.len() > DEEPEST || !hidden.iter().all(|width| sizes.contains(width)) {
            let reason = format!(
                "hidden is {hidden:?}; there may be up to {DEEPEST} layers, each of 1 to {MOST}"
            );
            return Err(wrong(Mlp::NAME, reason));
        }
        self.posterior.check(Mlp::NAME)
    }
}

/// `mlp`: a fully connected autoencoder for vectors, such as the states of MuJoCo or CartPole.
///
/// Hidden layers with ReLU, a linear latent, and the same mirrored. The loss is the squared error of
/// the [normalised](Normalization) observation, summed over it and averaged over the batch, and
/// that of a VAE where it is `variational`.
#[derive(Module, Debug)]
pub struct Mlp {
    encoder: Vec<Linear>,
    mean: Linear,
    spread: Option<Linear>,
    decoder: Vec<Linear>,
    output: Linear,
    /// What is subtracted from observations, and what they are divided by; not trained.
    center: Param<Tensor<1>>,
    scale: Param<Tensor<1>>,
    #[module(skip)]
    normalization: Normalization,
    #[module(skip)]
    posterior: VariationalSettings,
}

impl Mlp {
    fn normalize(&self, observations: Tensor<2>) -> Tensor<2> {
        match self.normalization {
            Normalization::Standardize => {
                let [center, scale] = self.statistics();
                ((observations - center) / scale).clamp(-FARTHEST, FARTHEST)
            }
            Normalization::Symlog => {
                let size = observations.clone().abs().log1p();
                observations.sign() * size
            }
            Normalization::None => observations,
        }
    }

    fn restore(&self, values: Tensor<2>) -> Tensor<2> {
        match self.normalization {
            Normalization::Standardize => {
                let [center, scale] = self.statistics();
                values * scale + center
            }
            Normalization::Symlog => {
                let size = values.clone().abs().exp().sub_scalar(1.0);
                values.sign() * size
            }
            Normalization::None => values,
        }
    }

    /// Centre and scale, `[1, width]` each, which do not learn.
    fn statistics(&self) -> [Tensor<2>; 2] {
        [&self.center, &self.scale].map(|values| values.val().detach().unsqueeze())
    }

    /// Mean and what the standard deviation is made of, of normalised observations.
    fn posterior(&self, mut x: Tensor<2>) -> (Tensor<2>, Option<Tensor<2>>) {
        watch("the normalised observations", &x);
        for layer in &self.encoder {
            x = relu(layer.forward(x));
            watch("the output of a layer of the encoder", &x);
        }
        let spread = self.spread.as_ref().map(|spread| spread.forward(x.clone()));
        (self.mean.forward(x), spread)
    }

    /// Normalised observations.
    fn decode(&self, mut x: Tensor<2>) -> Tensor<2> {
        for layer in &self.decoder {
            x = relu(layer.forward(x));
            watch("the output of a layer of the decoder", &x);
        }
        self.output.forward(x)
    }
}

impl EncoderModel for Mlp {
    const NAME: &'static str = "mlp";

    const FITTED_TO: usize = 4096;

    type Config = MlpConfig;

    fn init(config: &MlpConfig, input: &Space, device: &Device) -> Result<Self, EncoderError> {
        if !matches!(input, Space::Box { .. }) {
            return Err(EncoderError::Space {
                encoder: Self::NAME.to_owned(),
                expected: "vectors (frames: vae, autoencoder or simclr)".to_owned(),
                found: input.to_string(),
            });
        }
        config.check()?;
        let width = input.width();
        let latent = config.latent_size.unwrap_or(width.min(32));
        let layers = |sizes: &[usize]| -> Vec<Linear> {
            sizes.windows(2).map(|pair| linear(pair[0], pair[1], device)).collect()
        };
        let there: Vec<usize> = std::iter::once(width).chain(config.hidden.clone()).collect();
        let back: Vec<usize> =
            std::iter::once(latent).chain(config.hidden.iter().rev().copied()).collect();
        let features = there[there.len() - 1];
        Ok(Self {
            encoder: layers(&there),
            mean: linear(features, latent, device),
            spread: config.variational.then(|| linear(features, latent, device)),
            decoder: layers(&back),
            output: linear(back[back.len() - 1], width, device),
            center: Param::from_tensor(Tensor::zeros([width], device)),
            scale: Param::from_tensor(Tensor::ones([width], device)),
            normalization: config.normalize,
            posterior: config.posterior.clone(),
        })
    }

    fn fit(&mut self, observations: &[f32]) {
        let width = self.center.dims()[0];
        if self.normalization != Normalization::Standardize || observations.is_empty() {
            return;
        }
        let count = (observations.len() / width) as f64;
        let column = |index: usize| observations.iter().skip(index).step_by(width);
        let (center, scale): (Vec<f32>, Vec<f32>) = (0..width)
            .map(|index| {
                let mean = column(index).map(|&v| f64::from(v)).sum::<f64>() / count;
                let squares = column(index).map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>();
                let deviation = (squares / count).sqrt();
                (mean as f32, if deviation > CONSTANT { deviation as f32 } else { 1.0 })
            })
            .unzip();
        let device = self.center.val().device();
        let parameter = |values: &[f32]| Param::from_tensor(Tensor::from_floats(values, &device));
        (self.center, self.scale) = (parameter(&center), parameter(&scale));
    }

    fn latent_size(&self) -> usize {
        self.mean.weight.dims()[1]
    }

    fn activations(&self) -> usize {
        let layers = self.encoder.iter().chain(&self.decoder).chain([&self.mean, &self.output]);
        layers.map(|layer| layer.weight.dims()[1]).sum()
    }

    fn losses(&self, observations: Tensor<2>) -> Losses {
        let target = self.normalize(observations);
        let (mean, spread) = self.posterior(target.clone());
        if let Some(spread) = spread {
            return self.posterior.losses(target, (mean, spread), |latents| self.decode(latents));
        }
        let error = squared_error(self.decode(mean), target);
        Losses { total: error.clone(), parts: vec![("reconstruction", error)] }
    }

    fn kl_floor(&self) -> f64 {
        self.posterior.kl_floor(self.latent_size())
    }

    fn represent(&self, observations: Tensor<2>) -> Latents {
        let (mean, spread) = self.posterior(self.normalize(observations));
        let std_dev = spread.map(|spread| self.posterior.deviation(spread));
        Latents { mean, std_dev, extras: Default::default() }
    }

    fn reconstruct(&self, latents: Tensor<2>) -> Option<Tensor<2>> {
        Some(self.restore(self.decode(latents)))
    }

    fn on_cpu(&self) -> Option<Box<dyn CpuEncoder>> {
        let heads: Vec<&Linear> = std::iter::once(&self.mean).chain(&self.spread).collect();
        let spread = self.spread.is_some().then_some(self.posterior.std_dev);
        let statistics = [&self.center, &self.scale].map(|values| values.val());
        let normalization = (self.normalization, statistics);
        Some(Box::new(FrozenMlp::new(normalization, &self.encoder, &heads, spread)))
    }
}
