//! Encoders from their run directories, and untrained ones.

use burn::tensor::Device;
use rl755_env::Space;
use rl755_nn::{Learner, OptimizerConfig, load_weights, num_parameters};
use rl755_run::WEIGHTS;

use crate::{
    EncoderError, EncoderModel, ObservationEncoder, input_form::InputForm, model_config,
    run::EncoderRun, trained::TrainedEncoder,
};

/// The most parameters of a model, 4 GB of weights.
const MOST_PARAMETERS: usize = 1_000_000_000;

/// The most numbers in the outputs of all layers for what is computed at once, 32 GB.
pub(crate) const MOST_ACTIVATIONS: usize = 8_000_000_000;

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
    let wrong = |reason| Err(EncoderError::Config { encoder: M::NAME.to_owned(), reason });
    let parameters = num_parameters(&model);
    if parameters > MOST_PARAMETERS {
        return wrong(format!(
            "the model would have {parameters} parameters, of which {MOST_PARAMETERS} are allowed; \
             make it narrower, or observations smaller"
        ));
    }
    let numbers = activations(&model, &form);
    if numbers > MOST_ACTIVATIONS {
        return wrong(format!(
            "its layers would give {numbers} numbers for one observation, of which \
             {MOST_ACTIVATIONS} are allowed; make it narrower, or observations smaller"
        ));
    }
    Ok((model, form))
}

/// Numbers that training keeps for one observation.
pub(crate) fn activations<M: EncoderModel>(model: &M, form: &InputForm) -> usize {
    model.activations().saturating_add(form.input().width())
}
