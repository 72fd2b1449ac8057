//! `simclr`: an encoder that learns to tell frames apart, whatever is done to their colours.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Device, Tensor, TensorData, activation::relu},
};
use rl755_env::Space;
use rl755_nn::{Losses, linear, standard_uniform, values, watch};
use serde::{Deserialize, Serialize};

use crate::{
    AugmentationSettings, ConvSettings, CpuEncoder, EncoderError, EncoderModel, Latents,
    augmentation::DRAWS,
    conv_settings::{MOST, wrong},
    conv_stack::{ConvDecoder, ConvEncoder},
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
    /// it: for pictures and dreams to look at. Training takes about twice as long with it, and the
    /// gradient norm that `max_gradient_norm` limits is then of both, nearly the decoder's, so a limit
    /// scales down what the encoder learns. Default true.
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
        let draws = values(standard_uniform::<2>([batch, 2 * DRAWS], &Device::flex()));
        let frames_here = values(frames.clone());
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

    /// There must be another frame to tell a frame from.
    const LEAST_BATCH: usize = 2;

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

    /// Of both views and, for the decoder, the frame.
    fn activations(&self) -> usize {
        let decoder = self.decoder.as_ref().map_or(0, ConvDecoder::activations);
        3 * self.encoder.activations() + decoder
    }

    fn losses(&self, observations: Tensor<2>) -> Losses {
        let views = self.views(&observations);
        watch("the views", &views);
        let latents = self.latents(views);
        watch("the latents", &latents);
        let projected = self.projection.forward(relu(self.hidden.forward(latents)));
        watch("the projections", &projected);
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

#[cfg(test)]
mod tests {
    use rl755_nn::with_examples;

    use super::*;

    #[test]
    fn a_part_of_a_batch_sees_the_views_that_the_whole_batch_sees() {
        let device = Device::flex();
        let convolutions = ConvSettings { channels: Some(vec![4]), ..Default::default() };
        let config = SimClrConfig { convolutions, decoder: false, ..Default::default() };
        let space = Space::Image { height: 12, width: 14, channels: 3 };
        let model = SimClr::init(&config, &space, &device).unwrap();
        let frames: Vec<f32> = (0..8 * 504).map(|i| (i * 31 % 257) as f32 / 256.0).collect();
        let frames = Tensor::<2>::from_data(TensorData::new(frames, [8, 504]), &device);
        let views = |rows: std::ops::Range<usize>| {
            with_examples(7, rows.clone(), || model.views(&frames.clone().slice([rows])))
        };
        let whole = views(0..8);
        for part in [0..2, 2..5, 5..8] {
            let [first, second] = [part.clone(), part.start + 8..part.end + 8];
            let expected =
                Tensor::cat(vec![whole.clone().slice([first]), whole.clone().slice([second])], 0);
            assert_eq!(views(part).into_data(), expected.into_data());
        }
    }
}
