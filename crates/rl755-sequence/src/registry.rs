//! Sequence models by name.

use std::{collections::BTreeMap, path::Path};

use burn::tensor::Device;
use rl755_nn::OptimizerConfig;
use rl755_run::{Outcome, TrainedRun, UnknownName};

use crate::{
    Infilling, LstmNetwork, MdnRnn, NullNetwork, Retrieval, SequenceError, SequenceModel,
    SequenceNetwork, SequenceRunConfig, StageContext, TrainSequenceConfig, Transformer, load::load,
    model_config, run::STAGE, train::train,
};

/// The sequence models that the stages know.
pub struct SequenceRegistry {
    entries: BTreeMap<&'static str, Entry>,
}

/// What the registry needs of a network, with its type gone.
struct Entry {
    default_config: fn() -> Result<serde_json::Value, SequenceError>,
    default_optimizer: fn(&serde_json::Value) -> Result<OptimizerConfig, SequenceError>,
    train: fn(&TrainSequenceConfig, &Path, bool, &StageContext<'_>) -> TrainResult,
    load: fn(&SequenceRunConfig, &Path, &Device) -> LoadResult,
}

type TrainResult = Result<Outcome, SequenceError>;
type LoadResult = Result<Box<dyn SequenceModel>, SequenceError>;

impl SequenceRegistry {
    /// Without any model.
    pub fn empty() -> Self {
        Self { entries: BTreeMap::new() }
    }

    /// With the models of this crate: `transformer`, `mdn-rnn`, `lstm`, `retrieval`,
    /// `infilling`, `null`.
    pub fn with_builtin() -> Self {
        let mut registry = Self::empty();
        registry
            .add::<Transformer>()
            .add::<MdnRnn>()
            .add::<LstmNetwork>()
            .add::<NullNetwork>()
            .add::<Retrieval>()
            .add::<Infilling>();
        registry
    }

    /// Adds the model `N`, which replaces one of the same name.
    pub fn add<N: SequenceNetwork>(&mut self) -> &mut Self {
        let entry = Entry {
            default_config: model_config::default_value::<N>,
            default_optimizer: |config| {
                Ok(N::default_optimizer(&model_config::parse::<N>(config)?))
            },
            train: train::<N>,
            load: load::<N>,
        };
        self.entries.insert(N::NAME, entry);
        self
    }

    /// The names, sorted.
    pub fn names(&self) -> Vec<&'static str> {
        self.entries.keys().copied().collect()
    }

    /// The default hyper-parameters of the model called `name`.
    ///
    /// # Errors
    /// When there is none.
    pub fn default_config(&self, name: &str) -> Result<serde_json::Value, SequenceError> {
        (self.entry(name)?.default_config)()
    }

    /// How the model called `name` is trained with the hyper-parameters `config` unless the user
    /// says otherwise; null stands for the default hyper-parameters.
    ///
    /// # Errors
    /// When there is none, or the hyper-parameters are not sound.
    pub fn default_optimizer(
        &self,
        name: &str,
        config: &serde_json::Value,
    ) -> Result<OptimizerConfig, SequenceError> {
        (self.entry(name)?.default_optimizer)(config)
    }

    /// Trains the model that `config` names in `model_dir`, or, with `resume`, goes on with an
    /// earlier training.
    ///
    /// Metrics are the model's losses, `gradient_norm`, and at each checkpoint `validation_loss`
    /// beside `validation_baseline`, the loss of repeating the last latent. Each checkpoint also
    /// dreams: `dream_latents.png` shows the latents of a rollout above those dreamt from its
    /// beginning, and `dream.png` the same as frames where `context` can decode them.
    ///
    /// # Errors
    /// When the name is unknown, the config, the dataset or the run directory do not fit, or
    /// training fails.
    pub fn train(
        &self,
        config: &TrainSequenceConfig,
        model_dir: &Path,
        resume: bool,
        context: &StageContext<'_>,
    ) -> Result<Outcome, SequenceError> {
        (self.entry(&config.model)?.train)(config, model_dir, resume, context)
    }

    /// Loads the model trained in `model_dir`: its checkpoint of that number, or the newest one of
    /// a finished training.
    ///
    /// # Errors
    /// When there is no such run or checkpoint, the training is not finished (and no checkpoint
    /// was named), or its model is not registered.
    pub fn load(
        &self,
        model_dir: &Path,
        checkpoint: Option<u64>,
        device: &Device,
    ) -> Result<Box<dyn SequenceModel>, SequenceError> {
        let run = TrainedRun::open(model_dir, STAGE, checkpoint)?;
        run.keep()?;
        let config: SequenceRunConfig = run.config()?;
        (self.entry(&config.model)?.load)(&config, run.checkpoint(), device)
    }

    fn entry(&self, name: &str) -> Result<&Entry, UnknownName> {
        self.entries.get(name).ok_or_else(|| {
            let known = self.names().into_iter().map(str::to_owned).collect();
            UnknownName::new("sequence model", name, known)
        })
    }
}

impl Default for SequenceRegistry {
    fn default() -> Self {
        Self::with_builtin()
    }
}
