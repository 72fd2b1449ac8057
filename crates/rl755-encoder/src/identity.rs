//! `identity`: observations as latents, for environments whose observations are vectors.

use burn::{
    module::Module,
    tensor::{Device, Tensor},
};
use rl755_env::Space;
use rl755_nn::Losses;
use serde::{Deserialize, Serialize};

use crate::{CpuEncoder, EncoderError, EncoderModel, Latents};

/// [`Identity`] has no hyper-parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityConfig {}

/// `identity`: the latent is the observation. It has no parameters, and its training is one step
/// that does nothing.
#[derive(Module, Debug)]
pub struct Identity {
    size: usize,
}

impl EncoderModel for Identity {
    const NAME: &'static str = "identity";

    type Config = IdentityConfig;

    fn init(
        _config: &IdentityConfig,
        input: &Space,
        _device: &Device,
    ) -> Result<Self, EncoderError> {
        if !matches!(input, Space::Box { .. }) {
            return Err(EncoderError::Space {
                encoder: Self::NAME.to_owned(),
                expected: "vectors".to_owned(),
                found: input.to_string(),
            });
        }
        Ok(Self { size: input.width() })
    }

    fn latent_size(&self) -> usize {
        self.size
    }

    fn losses(&self, observations: Tensor<2>) -> Losses {
        Losses { total: Tensor::zeros([1], &observations.device()), parts: Vec::new() }
    }

    fn represent(&self, observations: Tensor<2>) -> Latents {
        Latents { mean: observations, std_dev: None, extras: Default::default() }
    }

    fn reconstruct(&self, latents: Tensor<2>) -> Option<Tensor<2>> {
        Some(latents)
    }

    fn on_cpu(&self) -> Option<Box<dyn CpuEncoder>> {
        Some(Box::new(Copy))
    }
}

struct Copy;

impl CpuEncoder for Copy {
    fn encode(&self, observations: &[f32], mean: &mut [f32], _std_dev: Option<&mut [f32]>) {
        mean.copy_from_slice(observations);
    }

    fn is_stochastic(&self) -> bool {
        false
    }
}
