//! A registered encoder with its type erased.

use std::{marker::PhantomData, path::Path};

use burn::tensor::Device;
use rl755_env::Space;
use rl755_nn::{Learner, OptimizerConfig, load_weights, num_parameters};
use rl755_run::Outcome;

use crate::{
    EncoderError, EncoderModel, ObservationEncoder, StageContext, TrainEncoderConfig,
    input_form::InputForm, run::EncoderRun, trained::TrainedEncoder, training,
};

/// What the registry can do with an encoder.
pub(crate) trait EncoderSpec: Send + Sync {
    fn name(&self) -> &'static str;

    /// `config` with every default filled in; null stands for no settings.
    fn resolve_config(&self, config: &serde_json::Value)
    -> Result<serde_json::Value, EncoderError>;

    fn train(
        &self,
        config: &TrainEncoderConfig,
        model_dir: &Path,
        resume: bool,
        context: &StageContext<'_>,
    ) -> Result<Outcome, EncoderError>;

    fn load(
        &self,
        run: &EncoderRun,
        device: &Device,
    ) -> Result<Box<dyn ObservationEncoder>, EncoderError>;

    fn untrained(
        &self,
        config: &serde_json::Value,
        space: &Space,
        device: &Device,
    ) -> Result<Box<dyn ObservationEncoder>, EncoderError>;
}

/// The encoder of the type `M`.
pub(crate) struct Spec<M>(PhantomData<fn() -> M>);

impl<M> Spec<M> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<M: EncoderModel> EncoderSpec for Spec<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn resolve_config(
        &self,
        config: &serde_json::Value,
    ) -> Result<serde_json::Value, EncoderError> {
        let config = parse_config::<M>(config)?;
        serde_json::to_value(config).map_err(|e| config_error::<M>(&e))
    }

    fn train(
        &self,
        config: &TrainEncoderConfig,
        model_dir: &Path,
        resume: bool,
        context: &StageContext<'_>,
    ) -> Result<Outcome, EncoderError> {
        let model_config = self.resolve_config(&config.model_config)?;
        training::train::<M>(config, model_config, model_dir, resume, context)
    }

    fn load(
        &self,
        run: &EncoderRun,
        device: &Device,
    ) -> Result<Box<dyn ObservationEncoder>, EncoderError> {
        let (mut model, form) =
            init::<M>(&run.config.model_config, &run.config.observation_space, device)?;
        load_weights(&mut model, &run.weights)?;
        Ok(Box::new(TrainedEncoder::new(model.valid(), form, device)))
    }

    fn untrained(
        &self,
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
}

/// A model for observations of `space`, and how they are brought before it.
fn init<M: EncoderModel>(
    config: &serde_json::Value,
    space: &Space,
    device: &Device,
) -> Result<(M, InputForm), EncoderError> {
    let config = parse_config::<M>(config)?;
    let form = InputForm::new(M::NAME, space, &M::input_space(&config, space)?)?;
    Ok((M::init(&config, form.input(), device)?, form))
}

pub(crate) fn parse_config<M: EncoderModel>(
    config: &serde_json::Value,
) -> Result<M::Config, EncoderError> {
    if config.is_null() {
        return Ok(M::Config::default());
    }
    serde_json::from_value(config.clone()).map_err(|e| config_error::<M>(&e))
}

fn config_error<M: EncoderModel>(error: &serde_json::Error) -> EncoderError {
    EncoderError::Config { encoder: M::NAME.to_owned(), reason: error.to_string() }
}
