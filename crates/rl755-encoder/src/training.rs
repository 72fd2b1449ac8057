//! Training an encoder in a run directory.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use burn::tensor::Device;
use rl755_data::{Dataset, DatasetError, FrameSampler, FrameSamplerConfig};
use rl755_nn::{Learner, Losses, ModelSize, watch};
use rl755_run::{
    CheckpointPolicy, Input, Manifest, Metrics, Outcome, Progress, RunDir, RunError, SettingError,
    Trainee, TrainingConfig, TrainingError, derive_seed, train as train_loop, write_atomically,
    write_config,
};

use crate::{
    EncoderError, EncoderModel, StageContext, TrainEncoderConfig,
    batches::{Batches, batches, rows_of},
    input_form::InputForm,
    load::{init, size},
    model_config,
    picture::side_by_side,
    run::{RunConfig, STAGE},
    trained::values_of,
    validation::{CHUNK, Validation, tensor},
};

/// Trains a model of the type `M`.
pub(crate) fn train<M: EncoderModel>(
    config: &TrainEncoderConfig,
    model_dir: &Path,
    resume: bool,
    context: &StageContext<'_>,
) -> Result<Outcome, EncoderError> {
    SettingError::check_not_zero([
        ("batch_size", config.batch_size as u64),
        ("obs_sampled_per_rollout", config.obs_sampled_per_rollout as u64),
        ("shuffle_buffer_bytes", config.shuffle_buffer_bytes),
        ("reader_threads", config.reader_threads as u64),
    ])?;
    config.optimizer.check()?;
    config.training.check()?;
    config.checkpoints.check()?;
    let dataset = Dataset::open(&config.dataset)?;
    dataset.expect_raw()?;
    let space = dataset.manifest().environment.observation_space.clone();
    let parsed = model_config::parse::<M>(&config.model_config)?;
    let (model, form) = init::<M>(&parsed, &space, context.device)?;
    let size = size(&model, &form)?;
    check_batch::<M>(config, size)?;
    let parameters = size.parameters();
    let training =
        if parameters == 0 { TrainingConfig::single_step() } else { config.training.clone() };
    let sampler = FrameSampler::new(
        dataset.split(&config.split)?,
        sampler_config(config, training.train_steps),
    )?;
    let validation = validation(config, &dataset, context.progress)?;
    if let (Some(patience), None) = (config.checkpoints.early_stopping, &validation) {
        let expected = "left out where there is no validation";
        return Err(SettingError::new("early_stopping", patience, expected).into());
    }

    let run_config = RunConfig::new(config, model_config::resolved::<M>(&parsed)?, space);
    let about = serde_json::json!({
        "model": M::NAME,
        "model_config": run_config.model_config,
        "observation_space": run_config.observation_space,
        "input_space": form.input(),
    });
    let run_config = serde_json::to_value(run_config)
        .map_err(|e| RunError::Damaged { path: model_dir.into(), reason: e.to_string() })?;
    let mut inputs = vec![Input { path: dataset.directory().to_owned(), digest: dataset.digest() }];
    if let Some(weights) = &config.init_weights {
        inputs.push(Input::of_file(weights).map_err(RunError::io(weights))?);
    }
    let mut manifest = Manifest::begin(STAGE, M::NAME, config.seed, run_config, inputs);
    manifest.extendable = config.optimizer.schedule.is_open_ended();
    let mut run = RunDir::begin(model_dir, manifest, resume)?;
    if run.is_complete() {
        context.progress.line(&format!("{} is complete already", model_dir.display()));
        return Ok(Outcome::Complete);
    }
    let seed = derive_seed(config.seed, "weights", 0);
    let sample = sample::<M>(&dataset, config, &form)?;
    let mut learner = Learner::new(context.device, seed, &config.optimizer, |device| {
        let model = M::init(&parsed, form.input(), device);
        let mut model = model.expect("the same call gave a model just before");
        model.fit(&sample);
        model
    })
    .computing(&config.compute, training.train_steps);
    if let Some(weights) = &config.init_weights {
        learner.start_from(weights)?;
    }
    let mut trainee = EncoderTrainee {
        learner,
        batches: batches(sampler, form.clone(), training.train_steps),
        form,
        device: context.device.clone(),
        seed: config.seed,
        validation,
        picture: model_dir.join("reconstructions.png"),
        progress: context.progress,
        policy: config.checkpoints,
        about,
        last: None,
    };
    let outcome =
        train_loop(&mut run, &training, &mut trainee, context.progress, context.interrupt);
    let outcome = outcome.map_err(unwrap_trainee)?;
    if outcome == Outcome::Complete {
        let measured = trainee.measured()?;
        let mut results: serde_json::Map<_, _> =
            measured.into_iter().map(|(name, value)| (name, value.into())).collect();
        results.insert("parameters".to_owned(), parameters.into());
        run.complete(results)?;
    }
    Ok(outcome)
}

/// Refuses batches that are too small for the model, or too large for memory.
fn check_batch<M: EncoderModel>(
    config: &TrainEncoderConfig,
    size: ModelSize,
) -> Result<(), SettingError> {
    let check = |field, count, devices| size.check_batch(field, count, M::LEAST_BATCH, devices);
    check("batch_size", config.batch_size, 1 + config.compute.replicas.len())?;
    match config.validation_observations {
        0 => Ok(()),
        count => check("validation_observations", count.min(CHUNK), 1),
    }
}

/// The observations that the model is fitted to before training: those of the first batches,
/// whether training sees as many or not.
fn sample<M: EncoderModel>(
    dataset: &Dataset,
    config: &TrainEncoderConfig,
    form: &InputForm,
) -> Result<Vec<f32>, EncoderError> {
    let count = M::FITTED_TO.div_ceil(config.batch_size) as u64;
    let settings = sampler_config(config, count);
    let sampler = FrameSampler::new(dataset.split(&config.split)?, settings)?;
    let mut rows = Vec::new();
    for batch in 0..count {
        rows.extend(rows_of(&sampler.batch(batch)?, form));
    }
    Ok(rows)
}

fn sampler_config(config: &TrainEncoderConfig, batches: u64) -> FrameSamplerConfig {
    FrameSamplerConfig {
        batch_size: config.batch_size,
        obs_sampled_per_rollout: config.obs_sampled_per_rollout,
        shuffle_buffer_bytes: config.shuffle_buffer_bytes,
        reader_threads: config.reader_threads,
        batches: Some(batches),
        seed: derive_seed(config.seed, "batches", 0),
    }
}

fn validation(
    config: &TrainEncoderConfig,
    dataset: &Dataset,
    progress: &dyn Progress,
) -> Result<Option<Validation>, EncoderError> {
    if config.validation_observations == 0 {
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
    let seed = derive_seed(config.seed, "validation", 0);
    Ok(Some(Validation::new(split, config.validation_observations, seed)?))
}

/// An encoder in training.
struct EncoderTrainee<'a, M> {
    learner: Learner<M>,
    batches: Batches,
    form: InputForm,
    /// Without gradients.
    device: Device,
    seed: u64,
    validation: Option<Validation>,
    picture: PathBuf,
    progress: &'a dyn Progress,
    policy: CheckpointPolicy,
    /// What says beside the weights what they are of.
    about: serde_json::Value,
    /// What validation measured last.
    last: Option<Vec<(String, f64)>>,
}

impl<M: EncoderModel> EncoderTrainee<'_, M> {
    /// What validation gives at the end; measured anew where an earlier process trained.
    fn measured(&mut self) -> Result<Vec<(String, f64)>, TrainingError> {
        if self.last.is_none() {
            let model = self.learner.checked_model()?;
            self.paint(&model)?;
            self.validate(&model);
        }
        Ok(self.last.clone().unwrap_or_default())
    }

    fn validate(&mut self, model: &M) -> Vec<(String, f64)> {
        let Some(validation) = &self.validation else { return Vec::new() };
        let measured = validation.measure(model, &self.form, &self.device);
        if let Some(warning) = measured.collapse {
            self.progress.line(&format!("warning: {warning}"));
        }
        self.last = Some(measured.values.clone());
        measured.values
    }

    /// Writes the picture of frames beside their reconstructions, where there is one.
    fn paint(&self, model: &M) -> Result<Option<crate::picture::Picture>, TrainingError> {
        let Some(validation) = &self.validation else { return Ok(None) };
        let frames = validation.frames(&self.form);
        let rows = tensor(frames.clone(), self.form.input().width(), &self.device);
        let Some(reconstructed) = model.reconstruct(model.represent(rows).mean) else {
            return Ok(None);
        };
        let reconstructed = values_of(reconstructed, usize::MAX);
        let picture = side_by_side(self.form.input(), &frames, &reconstructed)
            .map_err(TrainingError::trainee)?;
        if let Some(picture) = &picture {
            write_atomically(&self.picture, &picture.png)?;
        }
        Ok(picture)
    }
}

impl<M: EncoderModel> Trainee for EncoderTrainee<'_, M> {
    fn step(&mut self, step: u64) -> Result<Vec<(String, f64)>, TrainingError> {
        let rows = self.batches.get(step - 1).map_err(TrainingError::trainee)?;
        let width = self.form.input().width();
        let examples = rows.len() / width;
        let losses = |model: &M, device: &Device, part: Range<usize>| -> Losses {
            let rows = rows[part.start * width..part.end * width].to_vec();
            let rows = tensor(rows, width, device);
            watch("the batch", &rows);
            model.losses(rows)
        };
        self.learner.step(step, derive_seed(self.seed, "step", step), examples, losses)
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
        let model = self.learner.checked_model()?;
        if let Some(picture) = self.paint(&model)? {
            metrics.image(step, "reconstructions", picture.size, &picture.png)?;
        }
        Ok(self.validate(&model))
    }
}

/// The dataset's own error where reading a batch failed.
fn unwrap_trainee(error: TrainingError) -> EncoderError {
    match error {
        TrainingError::Trainee(inner) => match inner.downcast::<DatasetError>() {
            Ok(error) => EncoderError::Dataset(*error),
            Err(inner) => EncoderError::Training(TrainingError::Trainee(inner)),
        },
        error => EncoderError::Training(error),
    }
}
