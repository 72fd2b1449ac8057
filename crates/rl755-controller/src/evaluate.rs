//! Scores of a finished controller, or of a policy to compare it with.

use std::{
    fmt,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use rayon::prelude::*;
use rl755_data::PolicyRegistry;
use rl755_env::{Env, EnvError, EnvSpec, ObservationBuffer, ObservationRef, RgbFrame, Space};
use rl755_run::{Input, ModelIdentity, SettingError, derive_seed};
use rl755_video::Film;
use serde::{Deserialize, Serialize};

use crate::{
    Controller, ControllerError, ControllerRun, Episode, EpisodeEnd, EpisodeLimits, EpisodeTask,
    Resources, Rollouts, Scores, StageContext, TrackSet, TrainedPolicy, WorldModel,
};

/// How many episodes are played, and on which tracks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluateConfig {
    /// Episodes, at least 1. Default 20.
    pub episodes: usize,
    /// Steps after which an episode is broken off; `None` for the environment's own limit, the
    /// default.
    pub horizon: Option<u32>,
    /// What the tracks derive from; none of them is a training's. Default 0.
    pub seed: u64,
}

impl Default for EvaluateConfig {
    fn default() -> Self {
        Self { episodes: 20, horizon: None, seed: 0 }
    }
}

impl EvaluateConfig {
    fn check(&self) -> Result<(), SettingError> {
        SettingError::check_not_zero([
            ("episodes", self.episodes as u64),
            ("horizon", self.horizon.map_or(1, u64::from)),
        ])
    }
}

/// A trained controller with its world model, ready to play.
pub struct Player<'a> {
    run: &'a ControllerRun,
    models: &'a WorldModel,
    controller: Box<dyn Controller>,
}

impl<'a> Player<'a> {
    /// Puts the controller of `run` before `models`.
    ///
    /// # Errors
    /// When these are not the models it was trained with, or the controller cannot be made.
    pub fn new(
        run: &'a ControllerRun,
        models: &'a WorldModel,
        context: &StageContext<'_>,
    ) -> Result<Self, ControllerError> {
        let found = models.identity();
        let other = |kind, expected: &dyn fmt::Display, found: String| {
            let (dependent, expected) = ("the controller", expected.to_string());
            Err(ControllerError::OtherModel { dependent, kind, expected, found })
        };
        if found.encoder != run.models.encoder {
            return other("encoder", &run.models.encoder, found.encoder.to_string());
        }
        if found.sequence != run.models.sequence {
            let name = |model: &Option<ModelIdentity>| {
                model.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
            };
            let expected = name(&run.models.sequence);
            return other("sequence model", &expected, name(&found.sequence));
        }
        let spec = context.environments.make(&run.training.environment)?.spec().clone();
        let inputs = models.controller_inputs(&spec)?;
        let config = &run.training.controller_config;
        let controller = context.controllers.make(&run.training.controller, &inputs, config)?;
        Ok(Self { run, models, controller })
    }

    /// What acts, as [`Scores`] name it.
    pub fn subject(&self) -> String {
        format!("controller {}", self.run.training.controller)
    }

    /// What a manifest lists as inputs: the controller, and the models it looks through.
    pub fn inputs(&self) -> Vec<Input> {
        std::iter::once(self.run.input.clone()).chain(self.models.inputs()).collect()
    }

    /// Plays `config.episodes` episodes.
    ///
    /// # Errors
    /// When a model or the environment fails, or a stop was asked for.
    pub fn evaluate(
        &self,
        config: &EvaluateConfig,
        context: &StageContext<'_>,
    ) -> Result<Scores, ControllerError> {
        config.check()?;
        let mut rollouts = self.rollouts(config, context, context.resources, config.episodes)?;
        let tasks: Vec<EpisodeTask<'_>> = (0..config.episodes as u64)
            .map(|index| self.task(TrackSet::Test.seed(config.seed, index)))
            .collect();
        let report = |done| context.progress.set(done as u64, config.episodes as u64);
        let episodes = rollouts.play(&tasks, &report, context.interrupt)?;
        Ok(Scores::new(self.subject(), rollouts.spec(), episodes))
    }

    /// Plays the evaluation's first episode again and writes it to `path` as a WebM video.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate), and when the environment draws no pictures and its
    /// observations are none, or the file cannot be written; there is none then.
    pub fn film(
        &self,
        config: &EvaluateConfig,
        context: &StageContext<'_>,
        path: &Path,
    ) -> Result<Episode, ControllerError> {
        let alone = Resources { batch: 1, threads: 1, groups: 1 };
        let mut rollouts = self.rollouts(config, context, alone, 1)?;
        let environment = &self.run.training.environment;
        let mut film = Film::new(&*context.environments.make(environment)?);
        let task = self.task(TrackSet::Test.seed(config.seed, 0));
        let mut watch = |picture: Option<RgbFrame>, observation: ObservationRef<'_>| {
            film.add(|| Ok(picture), observation);
        };
        let episode = rollouts.play_watched(task, &mut watch, context.interrupt)?;
        film.write(path)?;
        Ok(episode)
    }

    fn task(&self, seed: u64) -> EpisodeTask<'_> {
        EpisodeTask { parameters: &self.run.parameters, seed }
    }

    fn rollouts(
        &self,
        config: &EvaluateConfig,
        context: &StageContext<'_>,
        resources: Resources,
        tasks: usize,
    ) -> Result<Rollouts<'_>, ControllerError> {
        let environment = &self.run.training.environment;
        let mut rollouts = Rollouts::new(
            context.environments,
            environment,
            self.models,
            &*self.controller,
            (resources, tasks),
        )?;
        rollouts.set_limits(EpisodeLimits { horizon: config.horizon, patience_steps: None });
        Ok(rollouts)
    }
}

/// A policy in an environment, by name or trained, ready to play on the tracks that controllers are
/// evaluated on.
#[derive(Clone, Copy)]
pub struct PolicyPlayer<'a> {
    actor: Actor<'a>,
    environment: &'a str,
}

#[derive(Clone, Copy)]
enum Actor<'a> {
    Named(&'a str, &'a PolicyRegistry),
    Trained(&'a TrainedPolicy),
}

/// Chooses the actions of an episode.
type Act = Box<dyn FnMut(ObservationRef<'_>, &mut [f32]) -> Result<(), ControllerError>>;

impl<'a> PolicyPlayer<'a> {
    /// The policy called `policy` in `environment`.
    ///
    /// # Errors
    /// When a name is unknown, or the policy cannot act in that environment.
    pub fn new(
        policy: &'a str,
        environment: &'a str,
        policies: &'a PolicyRegistry,
        context: &StageContext<'_>,
    ) -> Result<Self, ControllerError> {
        let env = context.environments.make(environment)?;
        policies.make(policy, &env.spec().action_space, 0)?;
        Ok(Self { actor: Actor::Named(policy, policies), environment })
    }

    /// A trained `policy`, whose likeliest actions are played, in the environment it was trained in.
    ///
    /// # Errors
    /// When there is no such environment, or it is another one now.
    pub fn trained(
        policy: &'a TrainedPolicy,
        context: &StageContext<'_>,
    ) -> Result<Self, ControllerError> {
        let environment = policy.spec().id.as_str();
        let env = context.environments.make(environment)?;
        let spaces =
            |spec: &EnvSpec| format!("{} and {}", spec.observation_space, spec.action_space);
        let (one_size, other_size) = (spaces(policy.spec()), spaces(env.spec()));
        if one_size != other_size {
            return Err(ControllerError::Misfit {
                what: "spaces",
                one: "the policy".to_owned(),
                one_size,
                other: environment.to_owned(),
                other_size,
            });
        }
        Ok(Self { actor: Actor::Trained(policy), environment })
    }

    /// What acts, as [`Scores`] name it.
    pub fn subject(&self) -> String {
        match self.actor {
            Actor::Named(name, _) => format!("policy {name}"),
            Actor::Trained(_) => "trained policy".to_owned(),
        }
    }

    /// What chooses the actions of episode `index`.
    fn act(&self, space: &Space, seed: u64, index: u64) -> Result<Act, ControllerError> {
        Ok(match self.actor {
            Actor::Named(name, policies) => {
                let mut policy = policies.make(name, space, derive_seed(seed, "policy", index))?;
                Box::new(move |observation, action| {
                    policy.act(observation, action);
                    Ok(())
                })
            }
            Actor::Trained(policy) => {
                let mut policy = policy.clone();
                Box::new(move |observation, action| policy.act(observation, action))
            }
        })
    }

    /// Plays `config.episodes` episodes.
    ///
    /// # Errors
    /// When the environment fails, or a stop was asked for.
    pub fn evaluate(
        &self,
        config: &EvaluateConfig,
        context: &StageContext<'_>,
    ) -> Result<Scores, ControllerError> {
        config.check()?;
        let done = AtomicU64::new(0);
        let play = |index| {
            let episode = self.play(config, context, index, &mut |_, _| Ok(()))?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            context.progress.set(done, config.episodes as u64);
            Ok(episode)
        };
        let indices = (0..config.episodes as u64).into_par_iter();
        let episodes = indices.map(play).collect::<Result<Vec<_>, ControllerError>>()?;
        let spec = context.environments.make(self.environment)?.spec().clone();
        Ok(Scores::new(self.subject(), &spec, episodes))
    }

    /// Plays the evaluation's first episode again and writes it to `path` as a WebM video.
    ///
    /// # Errors
    /// As [`Player::film`].
    pub fn film(
        &self,
        config: &EvaluateConfig,
        context: &StageContext<'_>,
        path: &Path,
    ) -> Result<Episode, ControllerError> {
        let mut film = Film::new(&*context.environments.make(self.environment)?);
        let episode = self.play(config, context, 0, &mut |env, observation| {
            film.add(|| env.render(), observation);
            Ok(())
        })?;
        film.write(path)?;
        Ok(episode)
    }

    /// Plays episode `index` and shows every state to `watch`.
    fn play(
        &self,
        config: &EvaluateConfig,
        context: &StageContext<'_>,
        index: u64,
        watch: &mut dyn FnMut(&mut dyn Env, ObservationRef<'_>) -> Result<(), EnvError>,
    ) -> Result<Episode, ControllerError> {
        let mut env = context.environments.make(self.environment)?;
        let spec = env.spec().clone();
        let mut act = self.act(&spec.action_space, config.seed, index)?;
        let mut observation = ObservationBuffer::zeros(&spec.observation_space, 1);
        let mut action = vec![0.0; spec.action_space.width()];
        let seed = TrackSet::Test.seed(config.seed, index);
        env.reset(Some(seed), observation.as_mut())?;
        watch(&mut *env, observation.as_ref())?;
        let mut episode = Episode { seed, score: 0.0, steps: 0, end: EpisodeEnd::Horizon };
        while config.horizon.is_none_or(|horizon| episode.steps < horizon) {
            if context.interrupt.is_raised() {
                return Err(ControllerError::Interrupted);
            }
            act(observation.as_ref(), &mut action)?;
            let step = env.step(&action, observation.as_mut())?;
            watch(&mut *env, observation.as_ref())?;
            episode.score += step.reward;
            episode.steps += 1;
            if step.done() {
                episode.end =
                    if step.terminated { EpisodeEnd::Terminated } else { EpisodeEnd::Truncated };
                break;
            }
        }
        Ok(episode)
    }
}
