//! `rl755-train-controller`.

use std::path::PathBuf;

use anyhow::Context;
use rl755_controller::{
    Covariance, Resources, StageContext, TrainControllerConfig, WorldModel, train_controller,
};
use rl755_plotter::Subject;
use rl755_run::{Choice, NoSpectator, Outcome, TrainingConfig};

use crate::{
    Desk, Plugins, Stage,
    actors::{ControllerRecipe, Recipe},
    device::DeviceFlags,
    flag_values::{at_least_1, checkpoint, count, object, positive, steps, whole},
    plot_flags::PlotFlags,
    stage::WITH_RESUME,
    world_model::load_world_model,
};

/// Evolve a controller on [latent, hidden state] with CMA-ES, in the real environment
#[derive(Clone, Debug, clap::Args)]
pub struct TrainController {
    /// The controller's architecture: `linear`
    #[arg(long, default_value = "linear", value_name = "NAME")]
    controller: String,
    /// Settings of the controller itself, as JSON: '{"squash": ["tanh", "sigmoid", "clipped_tanh"]}'
    /// drives as World Models does. What is missing takes its default
    #[arg(long, default_value = "{}", value_name = "JSON", value_parser = object)]
    controller_config: serde_json::Value,
    /// The trained encoder: a directory that rl755-train-encoder wrote
    #[arg(long, value_name = "DIR")]
    encoder: PathBuf,
    /// The trained sequence model: a directory that rl755-train-sequence wrote [default: none, the
    /// controller sees the latent alone]
    #[arg(long, value_name = "DIR")]
    sequence: Option<PathBuf>,
    /// The checkpoint of the sequence model, whose encoder follows from it, or without one of the
    /// encoder: a number, `best` (the lowest validation loss) or `last` [default: the one that the
    /// finished training names: the last, or with --early-stopping the best]
    #[arg(long, value_name = "N|best|last", value_parser = checkpoint)]
    checkpoint: Option<Choice>,
    /// The environment's versioned id
    #[arg(long, default_value = "CarRacing-v3", value_name = "ID")]
    environment: String,
    /// Where checkpoints, metrics, TensorBoard logs and the learning curve go
    #[arg(long, value_name = "DIR")]
    model_dir: PathBuf,
    /// Members of a generation, at least 2
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = count)]
    population: usize,
    /// Episodes of each member in a generation, all members on the same ones
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = count)]
    trials: usize,
    /// Generations
    #[arg(long, default_value_t = 300, value_name = "N", value_parser = at_least_1)]
    generations: u64,
    /// Steps after which an episode is broken off, if the environment has not ended it before
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = steps)]
    max_steps: u32,
    /// In training, break an episode off after N steps in a row without a positive reward [default:
    /// never]
    #[arg(long, value_name = "N", value_parser = steps)]
    patience_steps: Option<u32>,
    /// The first step size of CMA-ES: the standard deviation of the first members' parameters
    #[arg(long, default_value_t = 0.1, value_name = "F", value_parser = positive)]
    sigma: f64,
    /// What CMA-ES learns: `full`, or `diagonal` (one scale for each parameter: learns faster in
    /// few generations)
    #[arg(long, default_value = "full", value_name = "NAME", value_parser = covariance)]
    covariance: Covariance,
    /// Evaluate the mean of the distribution every N generations, and after the last
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = at_least_1)]
    evaluate_every: u64,
    /// Episodes of an evaluation, none of them trained on
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = count)]
    evaluation_episodes: usize,
    /// Environments stepped together. The results do not depend on it
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = count)]
    batch_size: usize,
    /// A checkpoint every N generations
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = at_least_1)]
    save_every_n_steps: u64,
    /// What members and tracks are drawn from
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = whole)]
    seed: u64,
    /// Go on with the run in --model-dir, if there is one
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    device: DeviceFlags,
    #[command(flatten)]
    plot: PlotFlags,
}

impl Stage for TrainController {
    const NAME: &'static str = "rl755-train-controller";
    const UNIT: &'static str = "generations";
    const INTERRUPTED: &'static str = WITH_RESUME;

    fn run(self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        let device = self.device.open()?;
        let sequence = self.sequence.as_deref();
        let models = load_world_model(plugins, &self.encoder, sequence, self.checkpoint, &device)?;
        let config = TrainControllerConfig {
            controller: self.controller,
            controller_config: self.controller_config,
            environment: self.environment,
            population: self.population,
            trials: self.trials,
            sigma: self.sigma,
            covariance: self.covariance,
            horizon: Some(self.max_steps),
            patience_steps: self.patience_steps,
            evaluate_every_n_generations: self.evaluate_every,
            evaluation_episodes: self.evaluation_episodes,
            training: TrainingConfig {
                train_steps: self.generations,
                save_every_n_steps: self.save_every_n_steps,
                log_every_n_steps: 1,
            },
            seed: self.seed,
            ..TrainControllerConfig::default()
        };
        let model_dir = self.model_dir.as_path();
        let watcher = self.plot.start(plugins, desk, model_dir, config.horizon, || {
            subject(plugins, &config, &models)
        })?;
        let context = StageContext {
            spectator: watcher.spectator(),
            ..stage_context(plugins, desk, self.batch_size)
        };
        let outcome = train_controller(&config, &models, model_dir, self.resume, &context)
            .with_context(|| format!("training a controller in {}", model_dir.display()))?;
        watcher.close(desk);
        desk.print_trained::<Self>(model_dir, outcome)
    }
}

/// What a plotter plays of the training of `config`.
fn subject(
    plugins: &Plugins,
    config: &TrainControllerConfig,
    models: &WorldModel,
) -> anyhow::Result<Subject> {
    let TrainControllerConfig { controller: name, controller_config, environment, .. } = config;
    let env = plugins.environments.make(environment)?;
    let inputs = models.controller_inputs(env.spec())?;
    let controller = plugins.controllers.make(name, &inputs, controller_config)?;
    let recipe = Recipe::Controller(ControllerRecipe {
        controller: name.clone(),
        config: controller_config.clone(),
        encoder: models.encoder.input.path.clone(),
        sequence: models.sequence.as_ref().map(|sequence| sequence.input.path.clone()),
        models: models.identity(),
    });
    Ok(recipe.subject(environment, controller.num_parameters())?)
}

/// What the controller stages work with.
pub(super) fn stage_context<'a>(
    plugins: &'a Plugins,
    desk: &'a Desk,
    batch: usize,
) -> StageContext<'a> {
    StageContext {
        environments: &plugins.environments,
        controllers: &plugins.controllers,
        resources: Resources { batch, threads: rayon::current_num_threads(), groups: 0 },
        progress: &*desk.progress,
        interrupt: &desk.interrupt,
        spectator: &NoSpectator,
    }
}

fn covariance(text: &str) -> Result<Covariance, String> {
    serde_json::from_value(text.into()).map_err(|_| "it is `full` or `diagonal`".to_owned())
}
