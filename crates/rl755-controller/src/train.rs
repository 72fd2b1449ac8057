//! Evolving a controller in a run directory.

use std::{fs, path::Path};

use rl755_env::EnvSpec;
use rl755_run::{
    Manifest, Metrics, Outcome, RunDir, RunError, Trainee, TrainingConfig, TrainingError,
    derive_seed, train as train_loop, write_atomically,
};

use crate::{
    CmaEs, CmaEsConfig, ControllerError, EpisodeLimits, EpisodeTask, Goal, Rollouts, StageContext,
    TrackSet, TrainControllerConfig, WorldModel,
    learning_curve::{self, CurvePoint},
    run::{PARAMETERS, RunConfig, STAGE},
    tensor_file::{Tensor, write_tensors},
};

/// The file of a checkpoint with the learning curve so far.
const CURVE: &str = "learning_curve.json";

/// Evolves a controller on what `models` see in the real environment, in `model_dir`, or, with
/// `resume`, goes on with an earlier training.
///
/// A step is a generation. Its metrics are `best`, `mean` and `std` of its members' scores, each
/// the mean of a member's episodes; `noise`, the standard error of such a score, which `std` must
/// exceed for selection to tell members apart; `steps`, the mean length of an episode; and `sigma`.
/// Where the distribution's mean is evaluated, there are also `evaluation_mean` and
/// `evaluation_std` over the evaluation's episodes. The same config gives the same bits whatever
/// the resources.
///
/// # Errors
/// When the config, the environment or the models do not fit together, an episode fails, or the
/// disk does. What was saved before stays.
pub fn train_controller(
    config: &TrainControllerConfig,
    models: &WorldModel,
    model_dir: &Path,
    resume: bool,
    context: &StageContext<'_>,
) -> Result<Outcome, ControllerError> {
    config.check()?;
    let spec = context.environments.make(&config.environment)?.spec().clone();
    let inputs = models.controller_inputs(&spec)?;
    let registry = context.controllers;
    let mut training = config.clone();
    training.controller_config =
        registry.resolve_config(&config.controller, &config.controller_config)?;
    let controller = registry.make(&config.controller, &inputs, &training.controller_config)?;
    let evolution = CmaEs::new(&vec![0.0; controller.num_parameters()], &cma_es_config(config))?;
    let most_tasks = (config.population * config.trials).max(config.evaluation_episodes);
    let resources = (context.resources, most_tasks);
    let rollouts = Rollouts::new(context.environments, &spec.id, models, &*controller, resources)?;

    let run_config = RunConfig {
        training: training.clone(),
        models: models.identity(),
        environment: spec.clone(),
    };
    let run_config = serde_json::to_value(run_config)
        .map_err(|e| RunError::Damaged { path: model_dir.into(), reason: e.to_string() })?;
    let manifest =
        Manifest::begin(STAGE, &config.controller, config.seed, run_config, models.inputs());
    let mut run = RunDir::begin(model_dir, manifest, resume)?;
    if run.is_complete() {
        context.progress.line(&format!("{} is complete already", model_dir.display()));
        return Ok(Outcome::Complete);
    }
    let mut trainee = Evolution {
        config: &training,
        context,
        rollouts,
        evolution,
        curve: Vec::new(),
        picture: model_dir.join("learning_curve.png"),
    };
    // Every generation is logged: those that are evaluated have more metrics than the others.
    let training = TrainingConfig { log_every_n_steps: 1, ..config.training.clone() };
    let outcome =
        train_loop(&mut run, &training, &mut trainee, context.progress, context.interrupt)?;
    if outcome == Outcome::Complete {
        run.complete(results(&spec, config, &trainee.curve))?;
    }
    Ok(outcome)
}

fn cma_es_config(config: &TrainControllerConfig) -> CmaEsConfig {
    CmaEsConfig {
        goal: Goal::Maximize,
        sigma: config.sigma,
        population: Some(config.population),
        covariance: config.covariance,
        negative_weights: config.negative_weights,
        seed: derive_seed(config.seed, "members", 0),
    }
}

/// What the manifest says came out: the last evaluation, with what it was played in.
fn results(
    spec: &EnvSpec,
    config: &TrainControllerConfig,
    curve: &[CurvePoint],
) -> serde_json::Map<String, serde_json::Value> {
    let mut results = serde_json::Map::new();
    results.insert("environment".into(), spec.id.clone().into());
    results.insert("rules".into(), spec.rules.clone().into());
    if let Some((mean, std)) = curve.last().and_then(|point| point.evaluation) {
        results.insert("evaluation_mean".into(), mean.into());
        results.insert("evaluation_std".into(), std.into());
        results.insert("evaluation_episodes".into(), config.evaluation_episodes.into());
    }
    results
}

/// An evolution in progress.
struct Evolution<'a> {
    config: &'a TrainControllerConfig,
    context: &'a StageContext<'a>,
    rollouts: Rollouts<'a>,
    evolution: CmaEs,
    curve: Vec<CurvePoint>,
    /// Where the learning curve is drawn.
    picture: std::path::PathBuf,
}

impl Evolution<'_> {
    /// The scores and lengths of `parameters`' episodes on tracks of `set`: one row of episodes
    /// after another, all on the same tracks.
    fn play(
        &mut self,
        step: u64,
        parameters: &[Vec<f32>],
        limits: EpisodeLimits,
        tracks: impl Iterator<Item = u64> + Clone,
    ) -> Result<Vec<(f64, u32)>, TrainingError> {
        let tasks: Vec<EpisodeTask<'_>> = parameters
            .iter()
            .flat_map(|parameters| tracks.clone().map(move |seed| EpisodeTask { parameters, seed }))
            .collect();
        self.rollouts.set_limits(limits);
        let report = |done| {
            self.context.progress.note(&format!("{done} of {} episodes", tasks.len()));
        };
        match self.rollouts.play(&tasks, &report, self.context.interrupt) {
            Ok(episodes) => match episodes.iter().find(|episode| !episode.score.is_finite()) {
                Some(bad) => {
                    let tensor = format!("the score on the track with seed {}", bad.seed);
                    Err(TrainingError::NotFinite { tensor, step })
                }
                None => Ok(episodes.into_iter().map(|e| (e.score, e.steps)).collect()),
            },
            Err(ControllerError::Interrupted) => Err(TrainingError::Interrupted),
            Err(error) => Err(TrainingError::trainee(error)),
        }
    }

    /// Mean and standard deviation of the distribution's mean on the evaluation's tracks.
    fn evaluate(&mut self, step: u64) -> Result<(f64, f64), TrainingError> {
        let seed = self.config.seed;
        let tracks = 0..self.config.evaluation_episodes as u64;
        let tracks = tracks.map(move |index| TrackSet::Validation.seed(seed, index));
        let limits = EpisodeLimits { horizon: self.config.horizon, patience_steps: None };
        let mean = single(self.evolution.mean());
        let episodes = self.play(step, &[mean], limits, tracks)?;
        let scores: Vec<f64> = episodes.iter().map(|(score, _)| *score).collect();
        Ok(mean_and_std(&scores))
    }
}

impl Trainee for Evolution<'_> {
    fn step(&mut self, step: u64) -> Result<Vec<(String, f64)>, TrainingError> {
        let TrainControllerConfig { trials, seed, horizon, patience_steps, .. } = *self.config;
        let members: Vec<Vec<f32>> = self.evolution.ask().iter().map(|m| single(m)).collect();
        let first = (step - 1) * trials as u64;
        let tracks = first..first + trials as u64;
        let tracks = tracks.map(move |index| TrackSet::Training.seed(seed, index));
        let limits = EpisodeLimits { horizon, patience_steps };
        let episodes = self.play(step, &members, limits, tracks)?;
        let scores: Vec<f64> = episodes
            .chunks(trials)
            .map(|own| own.iter().map(|(score, _)| score).sum::<f64>() / trials as f64)
            .collect();
        // A generation that is given up in its evaluation must not have been told.
        let mut evolution = self.evolution.clone();
        evolution.tell(&scores).map_err(TrainingError::trainee)?;
        let before = std::mem::replace(&mut self.evolution, evolution);
        let due = step.is_multiple_of(self.config.evaluate_every_n_generations)
            || step == self.config.training.train_steps;
        let evaluation = match due.then(|| self.evaluate(step)).transpose() {
            Ok(evaluation) => evaluation,
            Err(error) => {
                self.evolution = before;
                return Err(error);
            }
        };

        let (mean, std) = mean_and_std(&scores);
        let noise = standard_error(&episodes, trials);
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lengths = episodes.iter().map(|(_, steps)| f64::from(*steps));
        let mut metrics = vec![
            ("best".to_owned(), best),
            ("mean".to_owned(), mean),
            ("std".to_owned(), std),
            ("noise".to_owned(), noise),
            ("steps".to_owned(), lengths.sum::<f64>() / episodes.len() as f64),
            ("sigma".to_owned(), self.evolution.sigma()),
        ];
        if let Some((mean, std)) = evaluation {
            metrics.push(("evaluation_mean".to_owned(), mean));
            metrics.push(("evaluation_std".to_owned(), std));
            let tracks = self.config.evaluation_episodes;
            let standard_error = std / (tracks as f64).sqrt();
            self.context.progress.line(&format!(
                "generation {step}: the mean of all members scores {mean:.1} ± {standard_error:.1} \
                 (standard error) on {tracks} other tracks"
            ));
        }
        self.context.spectator.update(step, &single(self.evolution.mean()));
        self.curve.push(CurvePoint { generation: step, best, mean, evaluation });
        Ok(metrics)
    }

    fn save(&self, directory: &Path) -> Result<(), TrainingError> {
        self.evolution.save(directory).map_err(TrainingError::trainee)?;
        let mean = single(self.evolution.mean());
        let mut tensors = vec![Tensor::single("mean", &[mean.len()], &mean)];
        if let Some(best) = self.evolution.best() {
            let best = single(&best.parameters);
            tensors.push(Tensor::single("best", &[best.len()], &best));
        }
        write_tensors(&directory.join(PARAMETERS), &tensors)?;
        let curve = serde_json::to_vec(&self.curve).map_err(std::io::Error::from)?;
        Ok(fs::write(directory.join(CURVE), curve)?)
    }

    fn load(&mut self, directory: &Path) -> Result<(), TrainingError> {
        self.evolution = CmaEs::load(directory).map_err(TrainingError::trainee)?;
        let path = directory.join(CURVE);
        let damaged =
            |reason: String| TrainingError::Checkpoint { path: path.display().to_string(), reason };
        let curve = fs::read(&path).map_err(|e| damaged(e.to_string()))?;
        self.curve = serde_json::from_slice(&curve).map_err(|e| damaged(e.to_string()))?;
        Ok(())
    }

    fn checkpointed(
        &mut self,
        step: u64,
        metrics: &mut Metrics,
    ) -> Result<Vec<(String, f64)>, TrainingError> {
        let picture = learning_curve::draw(&self.curve);
        write_atomically(&self.picture, &picture.png)?;
        metrics.image(step, "learning_curve", picture.size, &picture.png)?;
        Ok(Vec::new())
    }
}

/// Parameters as the controller takes them.
fn single(parameters: &[f64]) -> Vec<f32> {
    parameters.iter().map(|value| *value as f32).collect()
}

/// The standard error of a member's mean score over its `trials` episodes, as a root mean square
/// over all members; 0 for single trials, which cannot tell.
fn standard_error(episodes: &[(f64, u32)], trials: usize) -> f64 {
    let squares = episodes.chunks(trials).map(|own| {
        let scores: Vec<f64> = own.iter().map(|(score, _)| *score).collect();
        mean_and_std(&scores).1.powi(2) / trials as f64
    });
    (squares.sum::<f64>() / (episodes.len() / trials) as f64).sqrt()
}

/// The mean, and the standard deviation with n - 1 (0 for a single value).
pub(crate) fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_what_a_member_s_own_episodes_disagree_by() {
        // Members at 0 ± 2 and 100 ± 2: variances of 8, divided by two trials.
        let episodes = [(-2.0, 1), (2.0, 1), (98.0, 1), (102.0, 1)];
        assert!((standard_error(&episodes, 2) - 2.0).abs() < 1e-12);
        assert_eq!(standard_error(&episodes, 1), 0.0);
    }
}
