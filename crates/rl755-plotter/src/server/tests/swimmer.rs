//! A scene that moves, without MuJoCo.

use rl755_env::{Camera, Geom, Scene, Shape};

/// A scene like Gymnasium's swimmer.
pub(super) fn swimmer() -> Scene {
    let geom = |name: &str, shape, rgba| Geom { name: name.into(), shape, rgba, checkered: false };
    let link = Shape::Capsule { radius: 0.1, half_length: 0.5 };
    let floor = Geom {
        checkered: true,
        ..geom("floor", Shape::Plane { half: [40.0, 40.0] }, [0.8, 0.9, 0.8, 1.0])
    };
    let body = |name| geom(name, link, [0.8, 0.6, 0.4, 1.0]);
    let camera = |name: &str, azimuth, elevation, distance, follows| Camera {
        name: name.into(),
        lookat: [0.0; 3],
        distance,
        azimuth,
        elevation,
        follows,
    };
    Scene {
        geoms: vec![floor, body("torso"), body("mid"), body("back")],
        cameras: vec![
            camera("track", 90.0, -35.0, 5.0, true),
            camera("top", 90.0, -89.0, 6.0, true),
            camera("side", 180.0, -12.0, 5.0, true),
            camera("fixed", 60.0, -30.0, 9.0, false),
        ],
        followed: 1,
    }
}

/// A swimming motion at a time in seconds.
pub(super) fn swimming(seconds: f32) -> Vec<[f32; 7]> {
    let mut poses = vec![[0.0, 0.0, -0.1, 1.0, 0.0, 0.0, 0.0]];
    let mut joint = [0.35 * seconds, 0.25 * (0.4 * seconds).sin()];
    for link in 0..3_u8 {
        let angle = 0.75 * (2.6 * seconds - 1.1 * f32::from(link)).sin();
        let (sin, cos) = angle.sin_cos();
        let middle = [joint[0] - 0.5 * cos, joint[1] - 0.5 * sin];
        joint = [joint[0] - cos, joint[1] - sin];
        // Turned from z to x, then by the angle about z.
        let (half_sin, half_cos) = (angle / 2.0).sin_cos();
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let rotation = [half * half_cos, -half * half_sin, half * half_cos, half * half_sin];
        let [w, x, y, z] = rotation;
        poses.push([middle[0], middle[1], 0.0, w, x, y, z]);
    }
    poses
}
