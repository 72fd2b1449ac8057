//! A controller behind a world model, with what the model sees and dreams.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use burn::tensor::Device;
use ndarray::{Array2, ArrayView2, Axis, concatenate};
use rl755_controller::{Controller, ControllerRun, WorldModel, WorldModelIdentity};
use rl755_encoder::ObservationEncoder;
use rl755_env::{EnvSpec, ObservationRef, RgbFrame};
use rl755_plotter::{Actor, ActorError, Subject};
use rl755_run::{Random, TrainedRun};
use rl755_sequence::{SequenceError, Session};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Recipe;
use crate::{Plugins, world_model::load_identified};

/// A dream begins anew after so many steps, of which it sees the first ones.
const DREAM_STEPS: u32 = 100;
const STEPS_SEEN: u32 = 10;

/// What a controller is made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ControllerRecipe {
    /// Its registered name, and its settings.
    pub(crate) controller: String,
    pub(crate) config: Value,
    /// The run directory of its encoder.
    pub(crate) encoder: PathBuf,
    /// The run directory of its sequence model, if it has one.
    pub(crate) sequence: Option<PathBuf>,
    /// Which models these are.
    pub(crate) models: WorldModelIdentity,
}

/// World models by what identifies them. Sessions borrow the model they belong to, so one that is
/// loaded stays for the life of the process, however often its actor is made again.
#[derive(Default)]
pub(super) struct Loaded(Mutex<Vec<(WorldModelIdentity, &'static WorldModel)>>);

impl Loaded {
    /// The models of `recipe`. They compute on the CPU, wherever the training does.
    pub(super) fn get(
        &self,
        plugins: &Plugins,
        recipe: &ControllerRecipe,
    ) -> Result<&'static WorldModel, ActorError> {
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, models)) = loaded.iter().find(|(models, _)| *models == recipe.models) {
            return Ok(models);
        }
        let ControllerRecipe { encoder, sequence, models, .. } = recipe;
        let device = Device::flex();
        let found = load_identified(plugins, encoder, sequence.as_deref(), models, &device);
        let found = found.map_err(|error| ActorError::new(format!("{error:#}")))?;
        if found.identity() != *models {
            let encoder = encoder.display();
            let what = format!("{encoder} and its sequence model are others than in the training");
            return Err(ActorError::new(what));
        }
        let found: &'static WorldModel = Box::leak(Box::new(found));
        loaded.push((models.clone(), found));
        Ok(found)
    }
}

/// The controller of `recipe` behind `models`, without parameters yet.
pub(super) fn actor(
    plugins: &Plugins,
    spec: &EnvSpec,
    recipe: &ControllerRecipe,
    models: &'static WorldModel,
) -> Result<Box<dyn Actor>, ActorError> {
    let inputs = models.controller_inputs(spec).map_err(ActorError::new)?;
    let controller = plugins.controllers.make(&recipe.controller, &inputs, &recipe.config);
    let controller = controller.map_err(ActorError::new)?;
    Ok(Box::new(WorldModelActor::new(models, controller)))
}

/// The controller in a checkpoint, with its parameters.
pub(super) fn saved(checkpoint: &TrainedRun) -> Result<(Subject, Vec<f32>), ActorError> {
    let run = ControllerRun::of_checkpoint(checkpoint).map_err(ActorError::new)?;
    let recipe = Recipe::Controller(ControllerRecipe {
        controller: run.training.controller,
        config: run.training.controller_config,
        encoder: run.encoder,
        sequence: run.sequence,
        models: run.models,
    });
    let subject = recipe.subject(&run.training.environment, run.parameters.len());
    Ok((subject.map_err(ActorError::new)?, run.parameters))
}

pub(super) struct WorldModelActor {
    encoder: &'static dyn ObservationEncoder,
    controller: Box<dyn Controller>,
    parameters: Vec<f32>,
    /// What the sequence model remembers of the episode, and what it dreams of it.
    memory: Option<(Box<dyn Session>, Dream)>,
    /// What is seen now, where it is a frame, and its latent, `[1, latent]`; none before the first
    /// action.
    seen: Option<(Option<RgbFrame>, Array2<f32>)>,
}

impl WorldModelActor {
    pub(super) fn new(models: &'static WorldModel, controller: Box<dyn Controller>) -> Self {
        let sequence = models.sequence.as_ref().map(|sequence| &*sequence.model);
        Self {
            encoder: &*models.encoder.model,
            parameters: vec![0.0; controller.num_parameters()],
            controller,
            memory: sequence.map(|model| (model.session(1), Dream::new(model.session(1)))),
            seen: None,
        }
    }

    fn try_act(
        &mut self,
        observation: ObservationRef<'_>,
        action: &mut [f32],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let latent = self.encoder.encode(observation)?.mean;
        let mut actions = Array2::zeros((1, action.len()));
        let nothing = Array2::zeros((1, 0));
        let hidden = self.memory.as_ref().map_or(nothing.view(), |(session, _)| session.hidden());
        self.controller.act(&[&self.parameters], latent.view(), hidden, actions.view_mut());
        action.iter_mut().zip(&actions).for_each(|(to, from)| *to = *from);
        if let Some((session, dream)) = &mut self.memory {
            session.step(latent.view(), actions.view())?;
            dream.step(latent.view(), actions.view())?;
        }
        let space = self.encoder.observation_space();
        self.seen = Some((RgbFrame::of_observation(space, observation), latent));
        Ok(())
    }

    /// What is seen now and what is dreamt, decoded: nothing with an encoder that cannot do that, or
    /// where observations are no frames.
    fn decoded(&self) -> Option<Vec<(&'static str, RgbFrame)>> {
        let (_, seen) = self.seen.as_ref()?;
        let dreamt = self.memory.as_ref().map(|(_, dream)| dream.shown.as_ref().unwrap_or(seen));
        let latents: Vec<_> = std::iter::once(seen).chain(dreamt).map(|l| l.view()).collect();
        let latents = concatenate(Axis(0), &latents).ok()?;
        let decoded = self.encoder.decode(latents.view()).ok()??;
        let space = self.encoder.observation_space();
        let names = ["reconstruction", "dream"].into_iter().take(latents.nrows()).enumerate();
        let frame = |(row, name)| {
            Some((name, RgbFrame::of_observation(space, decoded.row(row, space.width()))?))
        };
        names.map(frame).collect()
    }
}

impl Actor for WorldModelActor {
    fn load(&mut self, parameters: &[f32]) -> Result<(), ActorError> {
        let expected = self.parameters.len();
        if parameters.len() != expected {
            let found = parameters.len();
            return Err(ActorError::new(format!(
                "the controller has {expected} parameters, and is given {found}"
            )));
        }
        self.parameters.copy_from_slice(parameters);
        Ok(())
    }

    fn begin(&mut self, seed: u64) {
        self.seen = None;
        if let Some((session, dream)) = &mut self.memory {
            session.reset_row(0);
            dream.begin(seed);
        }
    }

    fn act(
        &mut self,
        observation: ObservationRef<'_>,
        action: &mut [f32],
    ) -> Result<(), ActorError> {
        self.try_act(observation, action).map_err(ActorError::new)
    }

    fn pictures(&mut self) -> Vec<(&'static str, RgbFrame)> {
        let frame = self.seen.as_ref().and_then(|(frame, _)| frame.clone());
        let decoded = self.decoded().unwrap_or_default();
        frame.map(|frame| ("observation", frame)).into_iter().chain(decoded).collect()
    }
}

/// What the sequence model makes up while it is told what is done: it sees a few steps, then goes on
/// with its own predictions, and after a while it begins anew.
struct Dream {
    session: Box<dyn Session>,
    random: [Random; 1],
    steps: u32,
    /// What it takes for the present.
    shown: Option<Array2<f32>>,
    /// What it takes for the next step.
    next: Option<Array2<f32>>,
}

impl Dream {
    fn new(session: Box<dyn Session>) -> Self {
        Self { session, random: [Random::new(0)], steps: 0, shown: None, next: None }
    }

    fn begin(&mut self, seed: u64) {
        self.random = [Random::derived(seed, "dream", 0)];
        self.wake();
    }

    fn wake(&mut self) {
        self.session.reset_row(0);
        (self.steps, self.shown, self.next) = (0, None, None);
    }

    /// Something is `seen`, and `action` done.
    fn step(
        &mut self,
        seen: ArrayView2<'_, f32>,
        action: ArrayView2<'_, f32>,
    ) -> Result<(), SequenceError> {
        if self.steps >= DREAM_STEPS {
            self.wake();
        }
        let dreamt = self.next.take().filter(|_| self.steps >= STEPS_SEEN);
        let now = dreamt.unwrap_or_else(|| seen.to_owned());
        self.session.step(now.view(), action)?;
        self.next = Some(self.session.predict(1.0, &mut self.random)?);
        self.shown = Some(now);
        self.steps += 1;
        Ok(())
    }
}
