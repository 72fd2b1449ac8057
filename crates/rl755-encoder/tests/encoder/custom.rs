//! An encoder of one's own: one short type, then `registry.add`.

use std::collections::BTreeMap;

use burn::{
    module::Module,
    nn::{Linear, LinearConfig},
    tensor::{Device, Tensor},
};
use rl755_data::{Dataset, EncodedRollout};
use rl755_encoder::{
    EncodeConfig, EncoderError, EncoderModel, EncoderRegistry, Latents, StageContext, encode,
};
use rl755_env::{ObservationRef, Space};
use rl755_nn::Losses;
use rl755_run::{Interrupt, Silent};
use serde::{Deserialize, Serialize};

use crate::synthetic::{Place, train};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PlaneConfig {
    latent_size: usize,
}

impl Default for PlaneConfig {
    fn default() -> Self {
        Self { latent_size: 2 }
    }
}

/// Finds the plane that vectors lie on, as principal components do.
#[derive(Module, Debug)]
struct Plane {
    encode: Linear,
    decode: Linear,
}

impl EncoderModel for Plane {
    const NAME: &'static str = "plane";
    type Config = PlaneConfig;

    fn init(config: &PlaneConfig, input: &Space, device: &Device) -> Result<Self, EncoderError> {
        Ok(Self {
            encode: LinearConfig::new(input.width(), config.latent_size).init(device),
            decode: LinearConfig::new(config.latent_size, input.width()).init(device),
        })
    }

    fn latent_size(&self) -> usize {
        self.encode.weight.dims()[1]
    }

    fn losses(&self, observations: Tensor<2>) -> Losses {
        let z = self.encode.forward(observations.clone());
        let total = (self.decode.forward(z) - observations).square().mean();
        Losses { total, parts: vec![] }
    }

    fn represent(&self, observations: Tensor<2>) -> Latents {
        let mean = self.encode.forward(observations);
        let doubled = mean.clone() * 2.0;
        Latents { mean, std_dev: None, extras: [("doubled".to_owned(), doubled)].into() }
    }

    fn extras(&self) -> BTreeMap<String, usize> {
        [("doubled".to_owned(), self.latent_size())].into()
    }
}

#[test]
fn a_model_of_one_s_own_is_trained_and_loaded_by_name() {
    let mut registry = EncoderRegistry::with_builtin();
    registry.add::<Plane>();
    assert!(registry.names().contains(&"plane"));
    let place = Place::with_vectors(20);
    let mut config = place.config("plane", 300);
    config.training.save_every_n_steps = 100;
    let run = place.path("run");
    train(&registry, &config, &run, &Interrupt::new());
    let results = rl755_run::RunDir::read(&run, "train-encoder").unwrap().results;
    assert!(results["validation_loss"].as_f64().unwrap() < 0.05, "{results:?}");

    let encoder = registry.load(&run, None, &Device::flex()).unwrap();
    let rows = [1.0, 2.0, 3.0, -1.0, 0.5, 0.5, 1.0, 0.0];
    let both = encoder.encode(ObservationRef::F32(&rows)).unwrap();
    let second = encoder.encode(ObservationRef::F32(&rows[4..])).unwrap();
    assert_eq!(both.mean.row(1), second.mean.row(0));
    assert_eq!(both.extras["doubled"], &both.mean * 2.0);
    assert_eq!(both.std_dev, None);
    assert_eq!(encoder.decode(both.mean.view()).unwrap(), None);

    // Extras are stored beside the latents, and read by name.
    let config = EncodeConfig {
        model_dir: run,
        dataset: place.dataset(),
        out_dir: place.path("out"),
        ..Default::default()
    };
    let (device, interrupt) = (Device::flex(), Interrupt::new());
    let context = StageContext { device: &device, progress: &Silent, interrupt: &interrupt };
    encode(&config, &registry, &context).unwrap();
    let encoded = Dataset::open(&config.out_dir).unwrap();
    assert_eq!(encoded.manifest().encoder.as_ref().unwrap().extras["doubled"], 2);
    let rollout: EncodedRollout = encoded.rollout(0).unwrap();
    assert_eq!(rollout.extras["doubled"], &rollout.latents * 2.0);
}
