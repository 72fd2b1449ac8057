//! The encoders that the stages know by name.

use std::{collections::BTreeMap, path::Path};

use burn::tensor::Device;
use rl755_env::Space;
use rl755_run::{Outcome, UnknownName};

use crate::{
    Autoencoder, EncoderError, EncoderModel, FrameVae, Identity, Mlp, ObservationEncoder, SimClr,
    StageContext, TrainEncoderConfig, Vae64, Vae96,
    load::{load, untrained},
    model_config,
    run::EncoderRun,
    training::train,
};

/// Encoders by name.
///
/// ```
/// use rl755_encoder::EncoderRegistry;
/// let registry = EncoderRegistry::with_builtin();
/// assert_eq!(registry.names(), ["autoencoder", "identity", "mlp", "simclr", "vae", "vae-64", "vae-96"]);
/// // A crate with an encoder of its own adds it by type: registry.add::<SlotVae>();
/// ```
pub struct EncoderRegistry {
    entries: BTreeMap<&'static str, Entry>,
}

/// What the registry needs of a model, with its type gone.
struct Entry {
    default_config: fn() -> Result<serde_json::Value, EncoderError>,
    train: fn(&TrainEncoderConfig, &Path, bool, &StageContext<'_>) -> Result<Outcome, EncoderError>,
    load: fn(&EncoderRun, &Device) -> LoadResult,
    untrained: fn(&serde_json::Value, &Space, &Device) -> LoadResult,
}

type LoadResult = Result<Box<dyn ObservationEncoder>, EncoderError>;

impl EncoderRegistry {
    /// A registry without encoders.
    pub fn empty() -> Self {
        Self { entries: BTreeMap::new() }
    }

    /// The encoders of this crate.
    pub fn with_builtin() -> Self {
        let mut registry = Self::empty();
        registry.add::<Autoencoder>().add::<Identity>();
        registry.add::<Mlp>().add::<SimClr>().add::<FrameVae>().add::<Vae64>().add::<Vae96>();
        registry
    }

    /// Adds `M` under its name, replacing another of that name.
    pub fn add<M: EncoderModel>(&mut self) -> &mut Self {
        let entry = Entry {
            default_config: model_config::default_value::<M>,
            train: train::<M>,
            load: load::<M>,
            untrained: untrained::<M>,
        };
        self.entries.insert(M::NAME, entry);
        self
    }

    /// The names, sorted.
    pub fn names(&self) -> Vec<&'static str> {
        self.entries.keys().copied().collect()
    }

    /// The hyper-parameters of the encoder called `name`, with their defaults.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn default_config(&self, name: &str) -> Result<serde_json::Value, EncoderError> {
        (self.entry(name)?.default_config)()
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
        (self.entry(&config.model)?.train)(config, model_dir, resume, context)
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
        (self.entry(name)?.untrained)(config, space, device)
    }

    pub(crate) fn load_run(
        &self,
        run: &EncoderRun,
        device: &Device,
    ) -> Result<Box<dyn ObservationEncoder>, EncoderError> {
        (self.entry(&run.config.model)?.load)(run, device)
    }

    fn entry(&self, name: &str) -> Result<&Entry, UnknownName> {
        self.entries.get(name).ok_or_else(|| {
            let known = self.names().into_iter().map(str::to_owned).collect();
            UnknownName::new("encoder", name, known)
        })
    }
}

impl Default for EncoderRegistry {
    fn default() -> Self {
        Self::with_builtin()
    }
}
