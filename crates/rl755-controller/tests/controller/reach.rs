//! A point to be moved onto a target, an encoder that passes its two numbers on, and a sequence
//! model that remembers a little.

use std::path::PathBuf;

use ndarray::{Array2, ArrayView2, Axis, azip, s};
use rl755_controller::{ControllerRegistry, LoadedModel, Resources, StageContext, WorldModel};
use rl755_encoder::{EncoderError, ObservationEncoder, Representation};
use rl755_env::{
    Env, EnvError, EnvRegistry, EnvSpec, ObservationBuffer, ObservationMut, ObservationRef, Space,
    Step,
};
use rl755_run::{Input, Interrupt, ModelIdentity, Random, Silent, digest_bytes};
use rl755_sequence::{SequenceError, SequenceModel, Session};

pub(crate) const ID: &str = "Reach-v0";

/// The observation is `[position, target]`, an action moves by up to 0.2, and a step costs the
/// distance that is left: -0.2 a step for the best of policies, less once it has arrived. Episodes
/// last 5 to 25 steps, by their seed. Step 3 pays 1 more.
pub(crate) struct Reach {
    spec: EnvSpec,
    position: f64,
    target: f64,
    left: u32,
    taken: u32,
    /// Added to every reward.
    extra: f64,
}

impl Reach {
    pub(crate) fn new() -> Self {
        let spec = EnvSpec {
            id: ID.to_owned(),
            observation_space: Space::Box { low: vec![-9.0; 2], high: vec![9.0; 2] },
            action_space: Space::Box { low: vec![-0.2], high: vec![0.2] },
            max_episode_steps: None,
            rules: "minus the distance".to_owned(),
        };
        Self { spec, position: 0.0, target: 0.0, left: 0, taken: 0, extra: 0.0 }
    }

    /// Pays without bound.
    pub(crate) fn unbounded() -> Self {
        Self { extra: f64::INFINITY, ..Self::new() }
    }

    fn observe(&self, observation: ObservationMut<'_>) -> Result<(), EnvError> {
        let observation = observation.floats(&self.spec)?;
        observation.copy_from_slice(&[self.position as f32, self.target as f32]);
        Ok(())
    }
}

impl Env for Reach {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, o: ObservationMut<'_>) -> Result<(), EnvError> {
        let mut random = Random::new(seed.expect("episodes are seeded"));
        self.position = 0.0;
        self.target = random.uniform(-1.0, 1.0);
        self.left = 5 + random.below(21) as u32;
        self.taken = 0;
        self.observe(o)
    }

    fn step(&mut self, action: &[f32], o: ObservationMut<'_>) -> Result<Step, EnvError> {
        self.spec.check_action(action)?;
        if self.left == 0 {
            return Err(self.spec.episode_over());
        }
        self.position += f64::from(action[0]);
        self.left -= 1;
        self.taken += 1;
        self.observe(o)?;
        let bonus = if self.taken == 3 { 1.0 } else { 0.0 };
        let reward = bonus - (self.target - self.position).abs() + self.extra;
        // Odd targets, so to speak, end in truncation.
        let truncated = self.left == 0 && self.target < 0.0;
        Ok(Step { reward, terminated: self.left == 0 && !truncated, truncated })
    }
}

/// The latent is the observation.
pub(crate) struct Passing(Space);

impl ObservationEncoder for Passing {
    fn latent_size(&self) -> usize {
        self.0.width()
    }

    fn observation_space(&self) -> &Space {
        &self.0
    }

    fn encode(&self, observations: ObservationRef<'_>) -> Result<Representation, EncoderError> {
        let ObservationRef::F32(values) = observations else { panic!("floats") };
        let shape = (values.len() / self.latent_size(), self.latent_size());
        let mean = Array2::from_shape_vec(shape, values.to_vec()).expect("whole observations");
        Ok(Representation { mean, ..Representation::default() })
    }

    fn decode(&self, _: ArrayView2<'_, f32>) -> Result<Option<ObservationBuffer>, EncoderError> {
        Ok(None)
    }
}

/// The hidden state is a fading sum of latents and actions.
pub(crate) struct Fading;

impl SequenceModel for Fading {
    fn latent_size(&self) -> usize {
        2
    }

    fn action_size(&self) -> usize {
        1
    }

    fn hidden_size(&self) -> usize {
        3
    }

    fn session(&self, batch: usize) -> Box<dyn Session + '_> {
        Box::new(FadingSession(Array2::zeros((batch, 3))))
    }
}

struct FadingSession(Array2<f32>);

impl Session for FadingSession {
    fn hidden(&self) -> ArrayView2<'_, f32> {
        self.0.view()
    }

    fn step(
        &mut self,
        latents: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<(), SequenceError> {
        assert_eq!((latents.nrows(), actions.nrows()), (self.0.nrows(), self.0.nrows()));
        self.0 *= 0.7;
        azip!((h in self.0.slice_mut(s![.., ..2]), z in latents) *h += z);
        azip!((h in self.0.slice_mut(s![.., 2..]), a in actions) *h += a);
        Ok(())
    }

    fn predict(&mut self, _: f64, _: &mut [Random]) -> Result<Array2<f32>, SequenceError> {
        Err(SequenceError::NothingSeen)
    }

    fn reset_row(&mut self, row: usize) {
        self.0.row_mut(row).fill(0.0);
    }

    fn select(&mut self, rows: &[usize]) {
        self.0 = self.0.select(Axis(0), rows);
    }
}

fn loaded<M: ?Sized>(model: Box<M>, name: &str, weights: &str) -> LoadedModel<M> {
    let digest = digest_bytes(weights.as_bytes());
    LoadedModel {
        model,
        identity: ModelIdentity { name: name.to_owned(), digest: digest.clone() },
        input: Input { path: PathBuf::from(name), digest },
    }
}

/// The models, the encoder with these "weights".
pub(crate) fn world_model(encoder_weights: &str) -> WorldModel {
    let space = Reach::new().spec.observation_space;
    WorldModel {
        encoder: loaded(Box::new(Passing(space)), "passing", encoder_weights),
        sequence: Some(loaded(Box::new(Fading), "fading", "b")),
    }
}

/// Registries and flags that a [`StageContext`] borrows.
pub(crate) struct Surroundings {
    pub(crate) environments: EnvRegistry,
    pub(crate) controllers: ControllerRegistry,
    pub(crate) interrupt: Interrupt,
}

impl Surroundings {
    pub(crate) fn new() -> Self {
        let mut environments = EnvRegistry::with_builtin();
        environments.add(ID, || Ok(Box::new(Reach::new())));
        let controllers = ControllerRegistry::with_builtin();
        Self { environments, controllers, interrupt: Interrupt::new() }
    }

    pub(crate) fn context(&self, resources: Resources) -> StageContext<'_> {
        StageContext {
            environments: &self.environments,
            controllers: &self.controllers,
            resources,
            progress: &Silent,
            interrupt: &self.interrupt,
            spectator: &rl755_run::NoSpectator,
        }
    }
}
