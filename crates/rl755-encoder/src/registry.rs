//! The encoders that the stages know by name.

use std::path::Path;

use burn::tensor::Device;
use rl755_env::Space;
use rl755_run::{Outcome, UnknownName};

use crate::{
    EncoderError, EncoderModel, Identity, ObservationEncoder, StageContext, TrainEncoderConfig,
    Vae64, Vae96,
    run::EncoderRun,
    spec::{EncoderSpec, Spec},
};

/// Encoders by name.
///
/// ```
/// use rl755_encoder::EncoderRegistry;
/// let registry = EncoderRegistry::with_builtin();
/// assert_eq!(registry.names(), ["identity", "vae-64", "vae-96"]);
/// // A crate with an encoder of its own adds it by type: registry.add::<SlotVae>();
/// ```
pub struct EncoderRegistry {
    specs: Vec<Box<dyn EncoderSpec>>,
}

impl EncoderRegistry {
    /// A registry without encoders.
    pub fn empty() -> Self {
        Self { specs: Vec::new() }
    }

    /// The encoders of this crate: `identity`, `vae-64`, `vae-96`.
    pub fn with_builtin() -> Self {
        let mut registry = Self::empty();
        registry.add::<Identity>().add::<Vae64>().add::<Vae96>();
        registry
    }

    /// Adds `M` under its name, replacing another of that name.
    pub fn add<M: EncoderModel>(&mut self) -> &mut Self {
        self.specs.retain(|spec| spec.name() != M::NAME);
        self.specs.push(Box::new(Spec::<M>::new()));
        self.specs.sort_by_key(|spec| spec.name());
        self
    }

    /// The names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.specs.iter().map(|spec| spec.name().to_owned()).collect()
    }

    /// The hyper-parameters of the encoder called `name`, with their defaults.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn default_config(&self, name: &str) -> Result<serde_json::Value, EncoderError> {
        self.spec(name)?.resolve_config(&serde_json::Value::Null)
    }

    /// Trains an encoder in `model_dir`, or, with `resume`, goes on with an earlier training.
    ///
    /// The run's manifest then says all that [`load`](Self::load) needs, and has the validation
    /// losses and the number of parameters among its results.
    ///
    /// # Errors
    /// When the config or the dataset does not suit the model, a number becomes infinite or NaN,
    /// or the disk fails. What was saved before stays.
    pub fn train(
        &self,
        config: &TrainEncoderConfig,
        model_dir: &Path,
        resume: bool,
        context: &StageContext<'_>,
    ) -> Result<Outcome, EncoderError> {
        self.spec(&config.model)?.train(config, model_dir, resume, context)
    }

    /// Loads the encoder trained in `model_dir`: its checkpoint of that number, or the newest one
    /// of a finished training.
    ///
    /// # Errors
    /// When there is no such run or checkpoint, the training is not finished (and no checkpoint
    /// was named), or its model is not registered.
    pub fn load(
        &self,
        model_dir: &Path,
        checkpoint: Option<u64>,
        device: &Device,
    ) -> Result<Box<dyn ObservationEncoder>, EncoderError> {
        self.load_run(&EncoderRun::open(model_dir, checkpoint)?, device)
    }

    /// The encoder called `name` for observations of `space`, with the fresh weights of seed 0: a
    /// random encoder, as baselines and tests of later stages use it.
    ///
    /// # Errors
    /// When there is none of that name, or `config` or `space` does not suit it.
    pub fn untrained(
        &self,
        name: &str,
        config: &serde_json::Value,
        space: &Space,
        device: &Device,
    ) -> Result<Box<dyn ObservationEncoder>, EncoderError> {
        self.spec(name)?.untrained(config, space, device)
    }

    pub(crate) fn load_run(
        &self,
        run: &EncoderRun,
        device: &Device,
    ) -> Result<Box<dyn ObservationEncoder>, EncoderError> {
        self.spec(&run.config.model)?.load(run, device)
    }

    fn spec(&self, name: &str) -> Result<&dyn EncoderSpec, EncoderError> {
        let found = self.specs.iter().find(|spec| spec.name() == name);
        let found = found.ok_or_else(|| UnknownName::new("encoder", name, self.names()))?;
        Ok(&**found)
    }
}

impl Default for EncoderRegistry {
    fn default() -> Self {
        Self::with_builtin()
    }
}
