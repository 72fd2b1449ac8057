//! Encoders from their run directories, and untrained ones.

use burn::tensor::Device;
use rl755_env::Space;
use rl755_nn::{Learner, ModelSize, OptimizerConfig, load_weights, num_parameters};
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
    let parsed = model_config::parse::<M>(&config.model_config)?;
    let (mut model, form) = init::<M>(&parsed, &config.observation_space, device)?;
    load_weights(&mut model, &run.run.checkpoint().join(WEIGHTS))?;
    Ok(Box::new(TrainedEncoder::new(model.valid(), form, device)))
}

/// An encoder with the fresh weights of seed 0.
pub(crate) fn untrained<M: EncoderModel>(
    config: &serde_json::Value,
    space: &Space,
    device: &Device,
) -> Result<Box<dyn ObservationEncoder>, EncoderError> {
    let config = model_config::parse::<M>(config)?;
    let (mut model, form) = init::<M>(&config, space, device)?;
    if num_parameters(&model) > 0 {
        // The learner draws the same weights on every device.
        let fresh = |device: &Device| {
            let again = init::<M>(&config, space, device);
            again.expect("the same call gave a model just before").0
        };
        model = Learner::new(device, 0, &OptimizerConfig::default(), fresh).inference_model();
    }
    Ok(Box::new(TrainedEncoder::new(model.valid(), form, device)))
}

/// A model for observations of `space`, and how they are brought before it. Makes no weights yet.
///
/// # Errors
/// When the config or the space does not suit it, or it would be too large.
pub(crate) fn init<M: EncoderModel>(
    config: &M::Config,
    space: &Space,
    device: &Device,
) -> Result<(M, InputForm), EncoderError> {
    let form = InputForm::new(M::NAME, space, &M::input_space(config, space)?)?;
    let model = M::init(config, form.input(), device)?;
    size(&model, &form)?;
    Ok((model, form))
}

/// How large `model` is.
///
/// # Errors
/// When it is too large.
pub(crate) fn size<M: EncoderModel>(
    model: &M,
    form: &InputForm,
) -> Result<ModelSize, EncoderError> {
    let activations = || model.activations().saturating_add(form.input().width());
    ModelSize::new(num_parameters(model), "one observation", activations)
        .map_err(|reason| EncoderError::Config { encoder: M::NAME.to_owned(), reason })
}
