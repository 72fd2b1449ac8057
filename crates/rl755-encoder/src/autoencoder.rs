//! `autoencoder`: the deterministic autoencoder, for frames of any size.

use burn::{
    module::Module,
    nn::Linear,
    tensor::{Device, Tensor},
};
use rl755_env::Space;
use rl755_nn::{Losses, linear};

use crate::{
    ConvSettings, CpuEncoder, EncoderError, EncoderModel, Latents,
    conv_stack::{ConvDecoder, ConvEncoder},
    variational::squared_error,
};

/// `autoencoder`: convolutions to a latent and back (Hinton & Salakhutdinov 2006), for frames of any
/// size; [`ConvSettings`] says which layers these are.
///
/// The loss is the squared error summed over the frame and averaged over the batch. Latents have no
/// standard deviation, and nothing keeps them near 0.
#[derive(Module, Debug)]
pub struct Autoencoder {
    encoder: ConvEncoder,
    latent: Linear,
    decoder: ConvDecoder,
}

impl EncoderModel for Autoencoder {
    const NAME: &'static str = "autoencoder";

    type Config = ConvSettings;

    fn input_space(config: &ConvSettings, space: &Space) -> Result<Space, EncoderError> {
        config.input_space(Self::NAME, space)
    }

    fn init(config: &ConvSettings, input: &Space, device: &Device) -> Result<Self, EncoderError> {
        let levels = config.levels(Self::NAME, input)?;
        let encoder = ConvEncoder::new(&levels, device);
        Ok(Self {
            latent: linear(encoder.features(), config.latent_size, device),
            encoder,
            decoder: ConvDecoder::new(config.latent_size, &levels, device),
        })
    }

    fn latent_size(&self) -> usize {
        self.latent.weight.dims()[1]
    }

    fn activations(&self) -> usize {
        self.encoder.activations() + self.decoder.activations()
    }

    fn losses(&self, observations: Tensor<2>) -> Losses {
        let latents = self.represent(observations.clone()).mean;
        let error = squared_error(self.decoder.forward(latents), observations);
        Losses { total: error.clone(), parts: vec![("reconstruction", error)] }
    }

    fn represent(&self, observations: Tensor<2>) -> Latents {
        let mean = self.latent.forward(self.encoder.forward(observations));
        Latents { mean, std_dev: None, extras: Default::default() }
    }

    fn reconstruct(&self, latents: Tensor<2>) -> Option<Tensor<2>> {
        Some(self.decoder.forward(latents))
    }

    fn on_cpu(&self) -> Option<Box<dyn CpuEncoder>> {
        Some(Box::new(self.encoder.on_cpu(&[&self.latent], None)))
    }
}
