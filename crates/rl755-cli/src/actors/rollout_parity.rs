//! Actors act as the rollouts of a training do, and show what the model sees.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use burn::tensor::Device;
use rl755_controller::{
    Controller, EpisodeLimits, EpisodeTask, LoadedModel, Resources, Rollouts, WorldModel,
};
use rl755_encoder::EncoderRegistry;
use rl755_env::{
    Env, EnvError, EnvRegistry, EnvSpec, ObservationBuffer, ObservationMut, ObservationRef, Space,
    Step,
};
use rl755_plotter::Actor;
use rl755_run::{Interrupt, ModelIdentity, Random, digest_bytes};
use rl755_sequence::{
    LstmConfig, LstmNetwork, SequenceModel, SequenceNetwork, Sizes, Transformer, TransformerConfig,
    trained,
};
use serde_json::json;

use super::world_model::WorldModelActor;
use crate::Plugins;

const STEPS: u32 = 60;
const SEEDS: [u64; 2] = [3, 8];

/// The actions of all episodes, one after another.
type Record = Arc<Mutex<Vec<f32>>>;

/// An environment that records what is done in it.
struct Recorded(Box<dyn Env>, Record);

impl Env for Recorded {
    fn spec(&self) -> &EnvSpec {
        self.0.spec()
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        self.0.reset(seed, observation)
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        self.1.lock().unwrap().extend(action);
        self.0.step(action, observation)
    }
}

fn loaded<M: ?Sized>(model: Box<M>) -> LoadedModel<M> {
    let identity = ModelIdentity { name: "a model".to_owned(), digest: digest_bytes(&[]) };
    LoadedModel::new(model, identity, Path::new(".")).unwrap()
}

/// A world model of fresh weights.
fn world_model(
    encoder: &str,
    space: &Space,
    sequence: impl FnOnce(Sizes) -> Box<dyn SequenceModel>,
) -> &'static WorldModel {
    let device = Device::flex();
    let encoder = EncoderRegistry::with_builtin().untrained(encoder, &json!({}), space, &device);
    let encoder = encoder.unwrap();
    let sizes = Sizes { latent: encoder.latent_size(), action: 1, sequence_length: 16 };
    let sequence = Some(loaded(sequence(sizes)));
    Box::leak(Box::new(WorldModel { encoder: loaded(encoder), sequence }))
}

fn lstm(sizes: Sizes) -> Box<dyn SequenceModel> {
    let network = LstmNetwork::init(&LstmConfig::default(), &sizes, &Device::flex());
    trained(&network.unwrap(), sizes, false)
}

fn transformer(sizes: Sizes) -> Box<dyn SequenceModel> {
    let network = Transformer::init(&TransformerConfig::default(), &sizes, &Device::flex());
    trained(&network.unwrap(), sizes, false)
}

fn controller(models: &WorldModel, spec: &EnvSpec) -> (Box<dyn Controller>, Vec<f32>) {
    let inputs = models.controller_inputs(spec).unwrap();
    let controller = Plugins::with_builtin().controllers.make("linear", &inputs, &json!({}));
    let controller = controller.unwrap();
    let mut random = Random::new(1);
    let numbers = std::iter::repeat_with(|| random.normal() as f32);
    let parameters = numbers.take(controller.num_parameters()).collect();
    (controller, parameters)
}

#[test]
fn recurrent_actors_act_as_rollouts_do_and_forget_the_episode_before() {
    for sequence in [lstm, transformer] {
        let record = Record::default();
        let mut envs = EnvRegistry::with_builtin();
        let to = Arc::clone(&record);
        envs.add("Recorded-v0", move || {
            let env = EnvRegistry::with_builtin().make("Pendulum-v1")?;
            Ok(Box::new(Recorded(env, Arc::clone(&to))))
        });
        let mut env = envs.make("Recorded-v0").unwrap();
        let spec = env.spec().clone();
        let models = world_model("identity", &spec.observation_space, sequence);
        let (controller, parameters) = controller(models, &spec);

        let resources = Resources { batch: 1, ..Resources::default() };
        let rollouts = Rollouts::new(&envs, "Recorded-v0", models, &*controller, (resources, 2));
        let mut rollouts = rollouts.unwrap();
        rollouts.set_limits(EpisodeLimits { horizon: Some(STEPS), patience_steps: None });
        let tasks = SEEDS.map(|seed| EpisodeTask { parameters: &parameters, seed });
        rollouts.play(&tasks, &|_| {}, &Interrupt::new()).unwrap();
        let expected = std::mem::take(&mut *record.lock().unwrap());
        assert_eq!(expected.len(), SEEDS.len() * STEPS as usize);

        let mut actor = WorldModelActor::new(models, self::controller(models, &spec).0);
        actor.load(&parameters).unwrap();
        let mut observation = ObservationBuffer::zeros(&spec.observation_space, 1);
        let mut action = [0.0];
        for seed in SEEDS {
            env.reset(Some(seed), observation.as_mut()).unwrap();
            actor.begin(seed);
            for _ in 0..STEPS {
                actor.act(observation.as_ref(), &mut action).unwrap();
                // Nothing can be decoded here, and nothing changes by looking.
                assert!(actor.pictures().is_empty());
                env.step(&action, observation.as_mut()).unwrap();
            }
        }
        assert_eq!(*record.lock().unwrap(), expected);
    }
}

#[test]
fn what_is_seen_and_dreamt_is_shown_as_pictures() {
    let space = Space::Image { height: 64, width: 64, channels: 3 };
    let spec = EnvSpec {
        id: "Pictures-v0".to_owned(),
        observation_space: space.clone(),
        action_space: Space::Discrete { n: 2 },
        max_episode_steps: None,
        rules: String::new(),
    };
    let models = world_model("vae-64", &space, lstm);
    let (controller, parameters) = controller(models, &spec);
    let mut actor = WorldModelActor::new(models, controller);
    actor.load(&parameters).unwrap();
    assert!(actor.load(&parameters[1..]).unwrap_err().to_string().contains("is given"));
    actor.begin(1);
    let mut drawn = Vec::new();
    for step in 0..12 {
        let frame = vec![step * 20; space.width()];
        actor.act(ObservationRef::U8(&frame), &mut [0.0]).unwrap();
        let pictures = actor.pictures();
        assert!(pictures.iter().all(|(_, picture)| (picture.height, picture.width) == (64, 64)));
        assert_eq!(
            pictures.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["observation", "reconstruction", "dream"]
        );
        drawn.push(pictures);
    }
    // A dream begins with what is seen, and then goes its own way.
    assert_eq!(drawn[0][1].1, drawn[0][2].1);
    assert_ne!(drawn[11][1].1, drawn[11][2].1);
}
