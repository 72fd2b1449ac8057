//! Scenes reach through every wrapper.

use rl755_env::{
    Env, EnvError, EnvRegistry, EnvSpec, ObservationMut, Scene, Scene3d, Step, TimeLimit,
    wrappers::*,
};

use crate::pattern::Pattern;

/// A pattern with a scene, which knows the number of its environment.
struct InSpace {
    pattern: Pattern,
    scene: Scene,
}

fn in_space() -> InSpace {
    InSpace { pattern: Pattern::new(8, 6), scene: Scene { followed: 7, ..Scene::default() } }
}

impl Env for InSpace {
    fn spec(&self) -> &EnvSpec {
        self.pattern.spec()
    }

    fn reset(&mut self, seed: Option<u64>, out: ObservationMut<'_>) -> Result<(), EnvError> {
        self.pattern.reset(seed, out)
    }

    fn step(&mut self, action: &[f32], out: ObservationMut<'_>) -> Result<Step, EnvError> {
        self.pattern.step(action, out)
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        Some(self)
    }
}

impl Scene3d for InSpace {
    fn scene(&self) -> &Scene {
        &self.scene
    }

    fn poses(&self, poses: &mut Vec<[f32; 7]>) {
        *poses = vec![[0.5; 7]];
    }

    fn physics_state(&self) -> Vec<f64> {
        vec![1.0, 2.0]
    }
}

#[track_caller]
fn check(env: impl Env) {
    let scene = env.scene().unwrap();
    let mut poses = Vec::new();
    scene.poses(&mut poses);
    assert_eq!((scene.scene().followed, poses.len()), (7, 1));
    assert_eq!(scene.physics_state(), [1.0, 2.0]);
}

#[test]
fn every_wrapper_shows_the_scene() {
    check(Box::new(in_space()) as Box<dyn Env>);
    check(TimeLimit::new(in_space(), 5));
    check(ClipReward::new(in_space(), -1.0, 1.0).unwrap());
    check(FrameStackObservation::new(in_space(), 2).unwrap());
    check(GrayscaleObservation::new(in_space()).unwrap());
    check(RecordEpisodeStatistics::new(in_space()));
    check(RecordFrames::new(in_space(), 1, |_| Ok(())).unwrap());
    check(RepeatAction::new(in_space(), 2).unwrap());
    check(ResizeObservation::new(in_space(), [4, 4]).unwrap());
    check(ScaleReward::new(in_space(), 2.0).unwrap());
    // Under its id with options, and with the registry's time limit.
    let mut registry = EnvRegistry::default();
    registry.add_with_options("Space-v0", |_: std::collections::BTreeMap<String, u8>| {
        Ok(Box::new(TimeLimit::new(in_space(), 5)))
    });
    check(registry.make("Space-v0:a=1").unwrap());
    assert!(Pattern::new(8, 6).scene().is_none());
}
