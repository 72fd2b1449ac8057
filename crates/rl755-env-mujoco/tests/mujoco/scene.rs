//! What is shown of the environments.

use rl755_env::{Env, EnvRegistry, ObservationBuffer, Shape};
use rl755_env_mujoco::{IDS, register};

use crate::golden::golden;

fn after_three_steps(id: &str) -> Box<dyn Env> {
    let mut registry = EnvRegistry::default();
    register(&mut registry);
    let mut env = registry.make(id).unwrap();
    let space = env.spec().action_space.clone();
    let low: Vec<f32> = (0..space.width()).map(|index| space.bounds(index).0).collect();
    let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    env.reset(Some(0), observation.as_mut()).unwrap();
    for _ in 0..3 {
        env.step(&low, observation.as_mut()).unwrap();
    }
    env
}

#[test]
fn geoms_are_where_mujoco_has_them() {
    let golden = golden();
    for id in IDS {
        let env = after_three_steps(id);
        let scene = env.scene().unwrap();
        let mut poses = vec![[9.0; 7]];
        scene.poses(&mut poses);
        let expected = &golden.environments[id].poses;
        assert_eq!((poses.len(), scene.scene().geoms.len()), (expected.len(), expected.len()));
        for (pose, expected) in poses.iter().zip(expected) {
            let pose = pose.map(f64::from);
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 2e-5 * b.abs().max(1.0);
            assert!(pose[..3].iter().zip(&expected[..3]).all(near), "{id}: {pose:?} {expected:?}");
            // Both signs of a quaternion are the same rotation.
            let dot: f64 = pose[3..].iter().zip(&expected[3..]).map(|(a, b)| a * b).sum();
            assert!((dot.abs() - 1.0).abs() < 1e-4, "{id}: {pose:?} {expected:?}");
        }
    }
}

#[test]
fn scenes_have_cameras_and_states() {
    // Positions and velocities in all.
    let widths = [29, 18, 12, 47, 6, 4, 22, 8, 10, 18];
    // Over Gymnasium's `render_fps`, frames per second.
    let rates = [20.0, 20.0, 125.0, 67.0, 20.0, 25.0, 20.0, 50.0, 25.0, 125.0];
    for ((id, width), rate) in IDS.into_iter().zip(widths).zip(rates) {
        let env = after_three_steps(id);
        let scene = env.scene().unwrap();
        assert_eq!(scene.physics_state().len(), width, "{id}");
        assert_eq!((1.0 / scene.step_seconds()).round(), rate, "{id}");
        let parts = scene.scene();
        assert!(parts.followed < parts.geoms.len());
        assert!(parts.cameras.len() > 2);
        let walks = !["Pusher", "Reacher", "Inverted"].iter().any(|name| id.starts_with(name));
        let (picture, others) = parts.cameras.split_last().unwrap();
        assert_eq!((picture.name.as_str(), picture.follows), ("picture", false), "{id}");
        assert!(others.iter().all(|camera| camera.follows == walks), "{id}");
        let floors = parts.geoms.iter().filter(|geom| geom.checkered).count();
        assert_eq!(floors, usize::from(walks), "{id}");
    }
}

/// In a square of 45 degrees, neither cut off nor tiny. Each geom that moves counts as the ball around it.
#[test]
fn the_first_camera_shows_the_whole_robot() {
    for id in IDS {
        let mut env = after_three_steps(id);
        let [mut poses, mut first] = [Vec::new(), Vec::new()];
        env.scene().unwrap().poses(&mut poses);
        let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        env.reset(Some(1), observation.as_mut()).unwrap();
        env.scene().unwrap().poses(&mut first);
        let parts = env.scene().unwrap().scene();
        let camera = &parts.cameras[0];
        let followed = if camera.follows { &poses[parts.followed][..3] } else { &[0.0; 3] };
        let middle: Vec<f32> = (0..3).map(|i| camera.lookat[i] + followed[i]).collect();
        let (turn, up) = (camera.azimuth.to_radians(), camera.elevation.to_radians());
        let forward = [up.cos() * turn.cos(), up.cos() * turn.sin(), up.sin()];
        let right = [turn.sin(), -turn.cos(), 0.0];
        let above = [-up.sin() * turn.cos(), -up.sin() * turn.sin(), up.cos()];
        let along = |axis: [f32; 3], at: &[f32]| -> f32 {
            (0..3).map(|i| axis[i] * (at[i] - middle[i])).sum()
        };
        let mut most = 0.0_f32;
        let geoms = parts.geoms.iter().zip(&poses).zip(&first);
        for ((geom, pose), _) in geoms.filter(|((_, pose), first)| pose != first) {
            let radius = match geom.shape {
                Shape::Plane { .. } => continue,
                Shape::Sphere { radius } => radius,
                Shape::Capsule { radius, half_length } => radius + half_length,
                Shape::Cylinder { radius, half_length } => radius.hypot(half_length),
                Shape::Ellipsoid { radii } => radii.into_iter().fold(0.0, f32::max),
                Shape::Box { half: [x, y, z] } => x.hypot(y).hypot(z),
            };
            let depth = camera.distance + along(forward, pose);
            for axis in [right, above] {
                most = most.max((along(axis, pose).abs() + radius) / depth);
            }
        }
        let edge = 22.5_f32.to_radians().tan();
        assert!((0.3..1.0).contains(&(most / edge)), "{id}: {}", most / edge);
    }
}

/// Where there is no EGL, the error must say what to install.
#[cfg(feature = "render")]
#[test]
fn pictures_show_something_or_say_what_is_missing() {
    let mut env = after_three_steps("Swimmer-v5");
    let before = env.scene().unwrap().physics_state();
    match env.render() {
        Ok(frame) => {
            let frame = frame.unwrap();
            assert_eq!((frame.width, frame.height), (480, 480));
            let colors: std::collections::BTreeSet<_> = frame.pixels.chunks_exact(3).collect();
            assert!(colors.len() > 100, "{} colours", colors.len());
        }
        Err(rl755_env::EnvError::Other { message, .. }) => {
            assert!(message.contains("libegl1"), "{message}")
        }
        Err(other) => panic!("{other}"),
    }
    assert_eq!(env.scene().unwrap().physics_state(), before);
}
