//! `simclr`: an encoder that learns to tell frames apart, whatever is done to their colours.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Device, Tensor, TensorData, activation::relu},
};
use rl755_env::Space;
use rl755_nn::{Losses, standard_uniform};
use serde::{Deserialize, Serialize};

use crate::{
    AugmentationSettings, ConvSettings, CpuEncoder, EncoderError, EncoderModel, Latents,
    augmentation::DRAWS,
    conv_settings::{MOST, wrong},
    conv_stack::{ConvDecoder, ConvEncoder},
    layers::linear,
    nt_xent::nt_xent,
    variational::squared_error,
};

/// Hyper-parameters of [`SimClr`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SimClrConfig {
    /// Frames, layers and latent.
    #[serde(flatten)]
    pub convolutions: ConvSettings,
    /// What is done to frames.
    #[serde(flatten)]
    pub augmentation: AugmentationSettings,
    /// What similarities are divided by, above 0: the lower, the more the hardest pairs count.
    /// Default 0.5, the paper's for small pictures (appendix B.9); 0.1 for large batches.
    pub temperature: f64,
    /// Width of the projection head's hidden layer, 1 to 65,536. Default 256.
    pub hidden_size: usize,
    /// Width of what is compared, 1 to 65,536. Default 128, the paper's.
    pub projection_size: usize,
    /// Whether a decoder learns to paint the latents beside the encoder, which does not learn from
    /// it: for pictures and dreams to look at. Training takes about twice as long with it. Default
    /// true.
    pub decoder: bool,
}

impl Default for SimClrConfig {
    fn default() -> Self {
        Self {
            convolutions: ConvSettings::default(),
            augmentation: AugmentationSettings::default(),
            temperature: 0.5,
            hidden_size: 256,
            projection_size: 128,
            decoder: true,
        }
    }
}

impl SimClrConfig {
    fn check(&self) -> Result<(), EncoderError> {
        let wrong = |reason| Err(wrong(SimClr::NAME, reason));
        let temperature = self.temperature;
        if !(temperature.is_finite() && temperature > 0.0) {
            return wrong(format!("temperature is {temperature}; it must be above 0"));
        }
        for (field, value) in
            [("hidden_size", self.hidden_size), ("projection_size", self.projection_size)]
        {
            if !(1..=MOST).contains(&value) {
                return wrong(format!("{field} is {value}; it must be from 1 to {MOST}"));
            }
        }
        self.augmentation.check(SimClr::NAME)
    }
}

/// `simclr`: a contrastive encoder (Chen et al. 2020) for frames of any size; [`ConvSettings`] says
/// which layers these are.
///
/// Of each frame of a batch two random views are made ([`AugmentationSettings`]), and a projection
/// head on the latents learns to find the other view of a frame among all views of the batch, at
/// least two frames: the normalised temperature-scaled cross entropy. `top_1` is how often it does.
/// The head is needed for training alone. On several devices, views are compared with those on the
/// same device.
#[derive(Module, Debug)]
pub struct SimClr {
    encoder: ConvEncoder,
    latent: Linear,
    hidden: Linear,
    projection: Linear,
    decoder: Option<ConvDecoder>,
    #[module(skip)]
    temperature: f64,
    #[module(skip)]
    augmentation: AugmentationSettings,
}

impl SimClr {
    /// Two random views of `frames`, `[2 · batch, width]`.
    fn views(&self, frames: &Tensor<2>) -> Tensor<2> {
        let [batch, width] = frames.dims();
        let numbers = |tensor: Tensor<2>| -> Vec<f32> {
            let data = tensor.into_data().convert::<f32>();
            data.try_into_vec().expect("converted to f32 just now")
        };
        let draws = numbers(standard_uniform([batch, 2 * DRAWS], &Device::flex()));
        let frames_here = numbers(frames.clone());
        let shape = self.encoder.frame_shape();
        let views = self.augmentation.two_views(shape, &frames_here, &draws);
        Tensor::from_data(TensorData::new(views, [2 * batch, width]), &frames.device())
    }

    fn latents(&self, frames: Tensor<2>) -> Tensor<2> {
        self.latent.forward(self.encoder.forward(frames))
    }
}

impl EncoderModel for SimClr {
    const NAME: &'static str = "simclr";

    type Config = SimClrConfig;

    fn input_space(config: &SimClrConfig, space: &Space) -> Result<Space, EncoderError> {
        config.convolutions.input_space(Self::NAME, space)
    }

    fn init(config: &SimClrConfig, input: &Space, device: &Device) -> Result<Self, EncoderError> {
        let levels = config.convolutions.levels(Self::NAME, input)?;
        config.check()?;
        let encoder = ConvEncoder::new(&levels, device);
        let latent_size = config.convolutions.latent_size;
        Ok(Self {
            latent: linear(encoder.features(), latent_size, device),
            encoder,
            hidden: linear(latent_size, config.hidden_size, device),
            projection: linear(config.hidden_size, config.projection_size, device),
            decoder: config.decoder.then(|| ConvDecoder::new(latent_size, &levels, device)),
            temperature: config.temperature,
            augmentation: config.augmentation.clone(),
        })
    }

    fn latent_size(&self) -> usize {
        self.latent.weight.dims()[1]
    }

    fn losses(&self, observations: Tensor<2>) -> Losses {
        let latents = self.latents(self.views(&observations));
        let projected = self.projection.forward(relu(self.hidden.forward(latents)));
        let contrast = nt_xent(projected, self.temperature);
        let mut total = contrast.loss.clone();
        let mut parts = vec![("contrastive", contrast.loss), ("top_1", contrast.top_1)];
        if let Some(decoder) = &self.decoder {
            let latents = self.latents(observations.clone()).detach();
            let error = squared_error(decoder.forward(latents), observations);
            // Gradients for the decoder; the loss that is reported stays the encoder's.
            total = total + (error.clone() - error.clone().detach());
            parts.push(("reconstruction", error));
        }
        Losses { total, parts }
    }

    fn represent(&self, observations: Tensor<2>) -> Latents {
        let mean = self.latents(observations);
        Latents { mean, std_dev: None, extras: Default::default() }
    }

    fn reconstruct(&self, latents: Tensor<2>) -> Option<Tensor<2>> {
        self.decoder.as_ref().map(|decoder| decoder.forward(latents))
    }

    fn on_cpu(&self) -> Option<Box<dyn CpuEncoder>> {
        Some(Box::new(self.encoder.on_cpu(&[&self.latent], None)))
    }
}
