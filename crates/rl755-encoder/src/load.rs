//! Encoders from their run directories, and untrained ones.

use burn::tensor::Device;
use rl755_env::Space;
use rl755_nn::{Learner, OptimizerConfig, load_weights, num_parameters};
use rl755_run::WEIGHTS;

use crate::{
    EncoderError, EncoderModel, ObservationEncoder, input_form::InputForm, model_config,
    run::EncoderRun, trained::TrainedEncoder,
};

/// The encoder trained in `run`.
pub(crate) fn load<M: EncoderModel>(
    run: &EncoderRun,
    device: &Device,
) -> Result<Box<dyn ObservationEncoder>, EncoderError> {
    let config = &run.config;
    let (mut model, form) = init::<M>(&config.model_config, &config.observation_space, device)?;
    load_weights(&mut model, &run.run.checkpoint().join(WEIGHTS))?;
    Ok(Box::new(TrainedEncoder::new(model.valid(), form, device)))
}

/// An encoder with the fresh weights of seed 0.
pub(crate) fn untrained<M: EncoderModel>(
    config: &serde_json::Value,
    space: &Space,
    device: &Device,
) -> Result<Box<dyn ObservationEncoder>, EncoderError> {
    let (mut model, form) = init::<M>(config, space, device)?;
    if num_parameters(&model) > 0 {
        // The learner draws the same weights on every device.
        let fresh = |device: &Device| {
            let again = init::<M>(config, space, device);
            again.expect("the same call gave a model just before").0
        };
        model = Learner::new(device, 0, &OptimizerConfig::default(), fresh).inference_model();
    }
    Ok(Box::new(TrainedEncoder::new(model.valid(), form, device)))
}

/// A model for observations of `space`, and how they are brought before it.
fn init<M: EncoderModel>(
    config: &serde_json::Value,
    space: &Space,
    device: &Device,
) -> Result<(M, InputForm), EncoderError> {
    let config = model_config::parse::<M>(config)?;
    let form = InputForm::new(M::NAME, space, &M::input_space(&config, space)?)?;
    Ok((M::init(&config, form.input(), device)?, form))
}
