//! Training a sequence model in a run directory.

use std::path::Path;

use burn::tensor::Device;
use rl755_data::{Dataset, DatasetError, Split, WindowSampler, WindowSamplerConfig};
use rl755_nn::{Learner, num_parameters};
use rl755_run::{
    Input, Manifest, Metrics, Outcome, Progress, RunDir, RunError, SettingError, Trainee,
    TrainingConfig, TrainingError, derive_seed, train as train_loop,
};

use crate::{
    SequenceError, SequenceNetwork, SequenceRunConfig, Sizes, StageContext, TrainSequenceConfig,
    batches::Batches, dream_stage::DreamStage, model_config, run::STAGE, trained::trained,
    validation::Validation,
};

/// Trains the network `N`.
pub(crate) fn train<N: SequenceNetwork>(
    config: &TrainSequenceConfig,
    model_dir: &Path,
    resume: bool,
    context: &StageContext<'_>,
) -> Result<Outcome, SequenceError> {
    let optimizer = config.optimizer.clone().unwrap_or_else(N::default_optimizer);
    SettingError::check_not_zero([
        ("batch_size", config.batch_size as u64),
        ("sequence_length", config.sequence_length as u64),
    ])?;
    optimizer.check()?;
    config.training.check()?;
    let dataset = Dataset::open(&config.dataset)?;
    dataset.expect_encoded()?;
    let encoder = dataset.manifest().encoder.as_ref().expect("encoded datasets name an encoder");
    let sizes = Sizes {
        latent: encoder.latent_width,
        action: dataset.manifest().action_width,
        sequence_length: config.sequence_length,
    };
    let parsed = model_config::parse::<N>(&config.model_config)?;
    // Says whether the config is sound before anything is written.
    let parameters = num_parameters(&N::init(&parsed, &sizes, context.device)?);
    let run_config = SequenceRunConfig {
        model: N::NAME.to_owned(),
        model_config: model_config::resolved::<N>(&parsed)?,
        sizes,
        encoder: encoder.name.clone(),
        encoder_digest: encoder.digest.clone(),
        sample_observations: config.sample_observations,
        difference_targets: config.difference_targets,
        split: config.split.clone(),
        validation_split: config.validation_split.clone(),
        validation_batches: config.validation_batches,
        optimizer: optimizer.clone(),
        training: if parameters == 0 {
            TrainingConfig::single_step()
        } else {
            config.training.clone()
        },
        batch_size: config.batch_size,
    };
    let split = dataset.split(&config.split)?;
    let batches = batches(config, &split, config.batch_size, "batches")?;
    let left_out = batches.sampler.too_short();
    let validation = validation(config, &dataset, context.progress)?;

    let value = serde_json::to_value(&run_config)
        .map_err(|e| RunError::Damaged { path: model_dir.to_owned(), reason: e.to_string() })?;
    let input = Input { path: dataset.directory().to_owned(), digest: dataset.digest() };
    let manifest = Manifest::begin(STAGE, N::NAME, config.seed, value, vec![input]);
    let mut run = RunDir::begin(model_dir, manifest, resume)?;
    if run.is_complete() {
        context.progress.line(&format!("{} is complete already", model_dir.display()));
        return Ok(Outcome::Complete);
    }
    if left_out > 0 {
        context.progress.line(&format!(
            "{left_out} rollouts are left out: they are shorter than {} steps",
            config.sequence_length + 1
        ));
    }
    let seed = derive_seed(config.seed, "weights", 0);
    let learner = Learner::new(context.device, seed, &optimizer, |device| {
        N::init(&parsed, &sizes, device).expect("the same call gave a network just before")
    });
    let shown = dataset.split(&config.validation_split).ok().filter(|s| !s.is_empty());
    let mut trainee = SequenceTrainee {
        learner,
        batches,
        validation,
        dreams: DreamStage::new(&shown.unwrap_or(split), model_dir, config.seed)?,
        sizes,
        difference_targets: config.difference_targets,
        seed: config.seed,
        context: *context,
        last: None,
    };
    let outcome = train_loop(
        &mut run,
        &run_config.training,
        &mut trainee,
        context.progress,
        context.interrupt,
    )?;
    if outcome == Outcome::Complete {
        let measured = trainee.measured()?;
        let mut results: serde_json::Map<_, _> =
            measured.into_iter().map(|(name, value)| (name, value.into())).collect();
        results.insert("parameters".to_owned(), parameters.into());
        run.complete(results)?;
    }
    Ok(outcome)
}

/// Batches of `split` whose order and draws derive from `label`.
fn batches(
    config: &TrainSequenceConfig,
    split: &Split,
    batch_size: usize,
    label: &str,
) -> Result<Batches, DatasetError> {
    let seed = derive_seed(config.seed, label, 0);
    // One step more than a sequence: the last one is only a target.
    let sampler = WindowSamplerConfig { batch_size, length: config.sequence_length + 1, seed };
    Ok(Batches {
        sampler: WindowSampler::new(split, sampler)?,
        sample_observations: config.sample_observations,
        difference_targets: config.difference_targets,
        seed,
    })
}

fn validation(
    config: &TrainSequenceConfig,
    dataset: &Dataset,
    progress: &dyn Progress,
) -> Result<Option<Validation>, SequenceError> {
    if config.validation_batches == 0 {
        return Ok(None);
    }
    let name = &config.validation_split;
    let split = match dataset.split(name) {
        Ok(split) if !split.is_empty() => split,
        Ok(_) | Err(DatasetError::UnknownSplit { .. }) => {
            progress.line(&format!("no validation: the dataset has no rollouts in `{name}`"));
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    match batches(config, &split, config.batch_size, "validation") {
        Ok(batches) => Ok(Some(Validation { batches, count: config.validation_batches })),
        Err(DatasetError::TooSmall { reason, .. }) => {
            progress.line(&format!("no validation: {reason}"));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// A sequence model in training.
struct SequenceTrainee<'a, N> {
    learner: Learner<N>,
    batches: Batches,
    validation: Option<Validation>,
    dreams: DreamStage,
    sizes: Sizes,
    difference_targets: bool,
    seed: u64,
    context: StageContext<'a>,
    /// What validation measured last.
    last: Option<Vec<(String, f64)>>,
}

impl<N: SequenceNetwork> SequenceTrainee<'_, N> {
    /// What validation gives at the end; measured anew where an earlier process trained.
    fn measured(&mut self) -> Result<Vec<(String, f64)>, TrainingError> {
        if self.last.is_none() {
            let network = self.learner.checked_model()?;
            self.dream(&network)?;
            self.validate(&network);
        }
        Ok(self.last.clone().unwrap_or_default())
    }

    fn validate(&mut self, network: &N) -> Vec<(String, f64)> {
        let Some(validation) = &self.validation else { return Vec::new() };
        let values = validation.measure(network, self.context.device);
        self.last = Some(values.clone());
        values
    }

    /// Draws the pictures of a dream: their names in TensorBoard and the pictures.
    fn dream(&self, network: &N) -> Result<Vec<crate::dream_stage::Named>, TrainingError> {
        let model = trained(network, self.sizes, self.difference_targets);
        self.dreams.paint(&*model, self.context.decode).map_err(TrainingError::trainee)
    }
}

impl<N: SequenceNetwork> Trainee for SequenceTrainee<'_, N> {
    fn step(&mut self, step: u64) -> Result<Vec<(String, f64)>, TrainingError> {
        let sequences = self.batches.sequences(step - 1);
        let batches = &self.batches;
        let losses =
            |network: &N, device: &Device| network.losses(&batches.tensors(&sequences, device));
        self.learner.step(step, derive_seed(self.seed, "step", step), losses)
    }

    fn save(&self, directory: &Path) -> Result<(), TrainingError> {
        self.learner.save(directory)
    }

    fn load(&mut self, directory: &Path) -> Result<(), TrainingError> {
        self.learner.load(directory)
    }

    fn checkpointed(
        &mut self,
        step: u64,
        metrics: &mut Metrics,
    ) -> Result<Vec<(String, f64)>, TrainingError> {
        let network = self.learner.checked_model()?;
        for (name, picture) in self.dream(&network)? {
            metrics.image(step, name, picture.size, &picture.png)?;
        }
        Ok(self.validate(&network))
    }
}
