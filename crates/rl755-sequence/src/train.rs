//! Training a sequence model in a run directory.

use std::{ops::Range, path::Path, sync::Arc};

use burn::tensor::Device;
use rl755_data::{
    Ahead, Dataset, DatasetError, MemoryBudget, Split, WindowSampler, WindowSamplerConfig,
};
use rl755_nn::{Learner, watch};
use rl755_run::{
    CheckpointPolicy, Input, Manifest, Metrics, Outcome, Progress, RunDir, RunError, SettingError,
    Trainee, TrainingConfig, TrainingError, derive_seed, train as train_loop, write_config,
};

use crate::{
    SequenceError, SequenceNetwork, SequenceRunConfig, Sizes, StageContext, TrainSequenceConfig,
    batches::{Batches, Sequences},
    dream_stage::DreamStage,
    model_config,
    run::STAGE,
    trained::trained,
    validation::Validation,
};

/// Trains the network `N`.
pub(crate) fn train<N: SequenceNetwork>(
    config: &TrainSequenceConfig,
    model_dir: &Path,
    resume: bool,
    context: &StageContext<'_>,
) -> Result<Outcome, SequenceError> {
    SettingError::check_not_zero([
        ("batch_size", config.batch_size as u64),
        ("sequence_length", config.sequence_length as u64),
        ("reader_threads", config.reader_threads as u64),
    ])?;
    if config.difference_targets && !N::DIFFERENCE_TARGETS {
        let expected = format!("false: {} predicts latents themselves", N::NAME);
        return Err(SettingError::new("difference_targets", true, &expected).into());
    }
    config.training.check()?;
    config.checkpoints.check()?;
    let dataset = Dataset::open(&config.dataset)?;
    dataset.expect_encoded()?;
    let encoder = dataset.manifest().encoder.as_ref().expect("encoded datasets name an encoder");
    let sizes = Sizes {
        latent: encoder.latent_width,
        action: dataset.manifest().action_width,
        sequence_length: config.sequence_length,
    };
    let parsed = model_config::parse::<N>(&config.model_config)?;
    let optimizer = config.optimizer.clone().unwrap_or_else(|| N::default_optimizer(&parsed));
    optimizer.check()?;
    // Says whether the config is sound before anything is written.
    let network = model_config::network::<N>(&parsed, &sizes, context.device)?;
    let size = model_config::size(&network, &parsed, &sizes)?;
    size.check_batch("batch_size", config.batch_size, 1, 1 + config.compute.replicas.len())?;
    let parameters = size.parameters();
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
        precision: config.compute.precision,
        early_stopping: config.checkpoints.early_stopping,
    };
    let split = dataset.split(&config.split)?;
    let memory = MemoryBudget::new(config.memory_bytes);
    let batches = Arc::new(batches(config, split.clone(), &memory, "batches")?);
    let left_out = batches.sampler.too_short();
    let validation = validation(config, &dataset, &memory, context.progress)?;
    if let (Some(patience), None) = (config.checkpoints.early_stopping, &validation) {
        let expected = "left out where there is no validation";
        return Err(SettingError::new("early_stopping", patience, expected).into());
    }
    let about = serde_json::json!({
        "model": N::NAME,
        "model_config": run_config.model_config,
        "sizes": run_config.sizes,
        "difference_targets": run_config.difference_targets,
    });

    let value = serde_json::to_value(&run_config)
        .map_err(|e| RunError::Damaged { path: model_dir.to_owned(), reason: e.to_string() })?;
    let mut inputs = vec![Input { path: dataset.directory().to_owned(), digest: dataset.digest() }];
    if let Some(weights) = &config.init_weights {
        inputs.push(Input::of_file(weights).map_err(RunError::io(weights))?);
    }
    let mut manifest = Manifest::begin(STAGE, N::NAME, config.seed, value, inputs);
    manifest.extendable = optimizer.schedule.is_open_ended();
    let mut run = RunDir::begin(model_dir, manifest, resume)?;
    if run.is_complete() {
        context.progress.line(&format!("{} is complete already", model_dir.display()));
        return Ok(Outcome::Complete);
    }
    if left_out > 0 {
        context.progress.line(&format!(
            "{left_out} of {} rollouts are left out: they are shorter than {} steps, a sequence and \
             the latent or the task's end that follows it",
            split.len(),
            config.sequence_length + 1
        ));
    }
    let seed = derive_seed(config.seed, "weights", 0);
    let mut learner = Learner::new(context.device, seed, &optimizer, |device| {
        N::init(&parsed, &sizes, device).expect("the same call gave a network just before")
    })
    .computing(&config.compute, run_config.training.train_steps);
    if let Some(weights) = &config.init_weights {
        learner.start_from(weights)?;
    }
    let shown = dataset.split(&config.validation_split).ok().filter(|s| !s.is_empty());
    let mut trainee = SequenceTrainee {
        learner,
        sequences: ahead(&batches, run_config.training.train_steps),
        batches,
        validation,
        dreams: DreamStage::new(&shown.unwrap_or(split), model_dir, config.seed)?,
        sizes,
        difference_targets: config.difference_targets,
        seed: config.seed,
        context: *context,
        policy: config.checkpoints,
        about,
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
    split: Split,
    memory: &MemoryBudget,
    label: &str,
) -> Result<Batches, DatasetError> {
    let seed = derive_seed(config.seed, label, 0);
    // One step more than a sequence: the last one is only a target.
    let sampler = WindowSamplerConfig {
        batch_size: config.batch_size,
        length: config.sequence_length + 1,
        reader_threads: config.reader_threads,
        seed,
    };
    Ok(Batches {
        sampler: WindowSampler::new(split, sampler, memory.clone())?,
        sample_observations: config.sample_observations,
        difference_targets: config.difference_targets,
        seed,
    })
}

/// The sequences of the first `count` batches, each drawn while the step before it runs.
fn ahead(batches: &Arc<Batches>, count: u64) -> Ahead<Result<Sequences, DatasetError>> {
    let batches = Arc::clone(batches);
    Ahead::new(count, move |batch| batches.sequences(batch))
}

fn validation(
    config: &TrainSequenceConfig,
    dataset: &Dataset,
    memory: &MemoryBudget,
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
    match batches(config, split, memory, "validation") {
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
    batches: Arc<Batches>,
    /// Those of `batches`.
    sequences: Ahead<Result<Sequences, DatasetError>>,
    validation: Option<Validation>,
    dreams: DreamStage,
    sizes: Sizes,
    difference_targets: bool,
    seed: u64,
    context: StageContext<'a>,
    policy: CheckpointPolicy,
    /// What says beside the weights what they are of.
    about: serde_json::Value,
    /// What validation measured last.
    last: Option<Vec<(String, f64)>>,
}

impl<N: SequenceNetwork> SequenceTrainee<'_, N> {
    /// What validation gives at the end; measured anew where an earlier process trained.
    fn measured(&mut self) -> Result<Vec<(String, f64)>, TrainingError> {
        if self.last.is_none() {
            let network = self.learner.checked_model()?;
            self.dream(&network)?;
            self.validate(&network)?;
        }
        Ok(self.last.clone().unwrap_or_default())
    }

    fn validate(&mut self, network: &N) -> Result<Vec<(String, f64)>, TrainingError> {
        let Some(validation) = &self.validation else { return Ok(Vec::new()) };
        let values =
            validation.measure(network, self.context.device).map_err(TrainingError::trainee)?;
        self.last = Some(values.clone());
        Ok(values)
    }

    /// Draws the pictures of a dream: their names in TensorBoard and the pictures.
    fn dream(&self, network: &N) -> Result<Vec<crate::dream_stage::Named>, TrainingError> {
        let model = trained(network, self.sizes, self.difference_targets);
        self.dreams.paint(&*model, self.context.decode).map_err(TrainingError::trainee)
    }
}

impl<N: SequenceNetwork> Trainee for SequenceTrainee<'_, N> {
    fn step(&mut self, step: u64) -> Result<Vec<(String, f64)>, TrainingError> {
        let sequences = self.sequences.get(step - 1).map_err(TrainingError::trainee)?;
        let batches = &self.batches;
        let losses = |network: &N, device: &Device, part: Range<usize>| {
            let batch = batches.tensors(&sequences, part, device);
            watch("the batch's latents", &batch.latents);
            watch("the batch's actions", &batch.actions);
            watch("the batch's targets", &batch.targets);
            network.losses(&batch)
        };
        let seed = derive_seed(self.seed, "step", step);
        self.learner.step(step, seed, sequences.len(), losses)
    }

    fn save(&self, directory: &Path) -> Result<(), TrainingError> {
        write_config(directory, &self.about)?;
        self.learner.save(directory)
    }

    fn policy(&self) -> CheckpointPolicy {
        self.policy
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
        self.validate(&network)
    }
}
