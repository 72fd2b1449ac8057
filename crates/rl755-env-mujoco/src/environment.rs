//! [`MujocoEnv`]: a [`Task`] as an environment.

use rl755_env::{
    Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Scene, Scene3d, Space, Step, numpy::NumpyRng,
};

use crate::{
    library,
    model_scene::ModelScene,
    task::{Facts, Outcome, Simulation, Task},
};

/// A MuJoCo environment, as Gymnasium's: the same seed and actions give the same episode, bit for
/// bit.
///
/// Reset without a seed the first time, it starts from one that the operating system chose.
pub struct MujocoEnv {
    task: Box<dyn Task>,
    spec: EnvSpec,
    simulation: Simulation,
    /// Positions and velocities of the model's own.
    initial: [Vec<f64>; 2],
    frame_skip: u32,
    /// Seconds of a step.
    step_seconds: f64,
    contact_forces: bool,
    rng: NumpyRng,
    phase: Phase,
    observation: Vec<f64>,
    scene: ModelScene,
    #[cfg(feature = "render")]
    renderer: Option<crate::renderer::Renderer>,
}

/// Where an environment is between two resets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    NotReset,
    Running,
    Over,
}

impl MujocoEnv {
    /// An environment that waits for its first reset.
    ///
    /// # Errors
    /// When a setting is out of its range, or MuJoCo's library is another version.
    pub fn new(task: impl Task) -> Result<Self, EnvError> {
        Self::of_task(Box::new(task))
    }

    fn of_task(task: Box<dyn Task>) -> Result<Self, EnvError> {
        let facts = task.facts();
        let id = || facts.id.to_owned();
        let model = library::model(facts.model)
            .map_err(|message| EnvError::Other { env: id(), message })?;
        check(&facts)
            .and_then(|()| task.check(&model))
            .map_err(|reason| EnvError::Options { env: id(), reason })?;
        let bounds = model.actuator_ctrlrange();
        let action_space = Space::Box {
            low: bounds.iter().map(|range| range[0] as f32).collect(),
            high: bounds.iter().map(|range| range[1] as f32).collect(),
        };
        let frame_skip = facts.frame_skip;
        let step_seconds = model.opt().timestep * f64::from(frame_skip);
        let mut simulation = Simulation::try_new(model)
            .map_err(|error| EnvError::Other { env: id(), message: error.to_string() })?;
        simulation.forward();
        let mut observation = Vec::new();
        task.observe(&simulation, &mut observation);
        let width = observation.len();
        Ok(Self {
            spec: EnvSpec {
                id: id(),
                observation_space: Space::Box {
                    low: vec![f32::NEG_INFINITY; width],
                    high: vec![f32::INFINITY; width],
                },
                action_space,
                max_episode_steps: Some(facts.max_episode_steps),
                rules: facts.rules,
            },
            scene: ModelScene::new(&simulation, facts.view),
            initial: [simulation.qpos().to_vec(), simulation.qvel().to_vec()],
            contact_forces: facts.contact_forces,
            rng: NumpyRng::from_entropy(),
            phase: Phase::NotReset,
            #[cfg(feature = "render")]
            renderer: None,
            task,
            simulation,
            frame_skip,
            step_seconds,
            observation,
        })
    }

    /// The last observation in full precision, as Gymnasium gives it.
    pub fn observation(&self) -> &[f64] {
        &self.observation
    }

    /// The model and its state, for viewers.
    pub fn into_simulation(self) -> Simulation {
        self.simulation
    }

    fn observe(&mut self, observation: &mut [f32]) {
        self.observation.clear();
        self.task.observe(&self.simulation, &mut self.observation);
        for (to, from) in observation.iter_mut().zip(&self.observation) {
            *to = *from as f32;
        }
    }
}

/// What is wrong with the settings of every task.
fn check(facts: &Facts) -> Result<(), String> {
    match facts.frame_skip {
        1..=1000 => Ok(()),
        other => Err(format!("frame_skip is {other}; it must be 1 to 1000")),
    }
}

impl Env for MujocoEnv {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        let observation = observation.floats(&self.spec)?;
        if let Some(seed) = seed {
            self.rng = NumpyRng::new(seed);
        }
        let [mut positions, mut velocities] = self.initial.clone();
        self.task.begin(&mut self.rng, &mut positions, &mut velocities);
        self.simulation.reset();
        self.simulation.qpos_mut().copy_from_slice(&positions);
        self.simulation.qvel_mut().copy_from_slice(&velocities);
        self.simulation.forward();
        self.phase = Phase::Running;
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        match self.phase {
            Phase::NotReset => return Err(self.spec.not_reset()),
            Phase::Running => {}
            Phase::Over => return Err(self.spec.episode_over()),
        }
        self.spec.check_action(action)?;
        let observation = observation.floats(&self.spec)?;
        let before = self.task.place(&self.simulation);
        for (control, value) in self.simulation.ctrl_mut().iter_mut().zip(action) {
            *control = f64::from(*value);
        }
        for _ in 0..self.frame_skip {
            self.simulation.step();
        }
        if self.contact_forces {
            self.simulation.rne_post_constraint();
        }
        let speed = (self.task.place(&self.simulation) - before) / self.step_seconds;
        let Outcome { reward, terminated } = self.task.outcome(&self.simulation, action, speed);
        self.observe(observation);
        if terminated {
            self.phase = Phase::Over;
        }
        Ok(Step { reward, terminated, truncated: false })
    }

    #[cfg(feature = "render")]
    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        if self.phase == Phase::NotReset {
            return Err(self.spec.not_reset());
        }
        let (picture, error) = (self.task.facts().view.picture, |message| EnvError::Other {
            env: self.spec.id.clone(),
            message,
        });
        if self.renderer.is_none() {
            self.renderer =
                Some(crate::renderer::Renderer::start(&self.simulation, picture).map_err(error)?);
        }
        self.renderer
            .as_mut()
            .map(|renderer| renderer.draw(&mut self.simulation).map_err(error))
            .transpose()
    }

    #[cfg(not(feature = "render"))]
    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        if self.phase == Phase::NotReset { Err(self.spec.not_reset()) } else { Ok(None) }
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        Some(self)
    }
}

impl Scene3d for MujocoEnv {
    fn scene(&self) -> &Scene {
        self.scene.scene()
    }

    fn poses(&self, poses: &mut Vec<[f32; 7]>) {
        self.scene.poses(&self.simulation, poses);
    }

    fn step_seconds(&self) -> f64 {
        self.step_seconds
    }

    fn physics_state(&self) -> Vec<f64> {
        [self.simulation.qpos(), self.simulation.qvel()].concat()
    }
}
