//! Acrobot-v1: a double pendulum with a motor in its elbow (Sutton 1996), as in Gymnasium.

use std::f64::consts::{FRAC_PI_2, PI};

use super::{
    Core,
    canvas::{BLACK, Canvas, whole_pixels},
    rotate, write_observation,
};
use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Space, Step, numpy::square};

const GRAVITY: f64 = 9.8;
/// Of each link, in metres, as far as the drawing is concerned; the equations have it as 1.
const LINK_LENGTH: f64 = 1.0;
/// The greatest speeds of the two joints, in radians per second.
const MAX_SPEED: [f64; 2] = [4.0 * PI, 9.0 * PI];
/// Seconds between two states.
const TIME_STEP: f64 = 0.2;
/// Each element of the first state is uniform within plus and minus this.
const START_SPREAD: f64 = 0.1;
/// Width and height of the picture in pixels.
const PICTURE: usize = 500;
const LINK_COLOR: [u8; 3] = [0, 204, 204];
const JOINT_COLOR: [u8; 3] = [204, 204, 0];

/// Two links that hang from a joint, to be swung above it by the motor between them.
///
/// The observation is `[cosine and sine of the first angle, cosine and sine of the second, the two
/// angular velocities]`; the first angle is 0 hanging down, the second is relative to the first. An
/// action is a torque of -1 (action 0), 0 (1) or 1 (2) newton metres. Every step costs 1, but for
/// the last, which brings the free end more than a link's length above the joint. The same seed and
/// actions give the same episode as Gymnasium's `Acrobot-v1`. Reset without a seed the first time,
/// it starts from one that the operating system chose.
#[derive(Clone, Debug)]
pub struct Acrobot {
    core: Core,
    state: [f64; 4],
}

impl Acrobot {
    /// The id this environment is registered under.
    pub const ID: &'static str = "Acrobot-v1";

    /// An environment that waits for its first reset.
    pub fn new() -> Self {
        let [first, second] = MAX_SPEED.map(|speed| speed as f32);
        let high = vec![1.0, 1.0, 1.0, 1.0, first, second];
        let spec = EnvSpec {
            id: Self::ID.to_owned(),
            observation_space: Space::Box { low: high.iter().map(|bound| -bound).collect(), high },
            action_space: Space::Discrete { n: 3 },
            max_episode_steps: Some(500),
            rules: "-1 per step, 0 for the last; ends when the free end is more than a link's \
                    length above the fixed joint"
                .to_owned(),
        };
        Self { core: Core::new(spec), state: [0.0; 4] }
    }

    /// The two angles, each from -π to π, and their velocities, in full precision.
    pub fn state(&self) -> [f64; 4] {
        self.state
    }

    fn observe(&self, observation: &mut [f32]) {
        let [first, second, first_speed, second_speed] = self.state;
        let values =
            [first.cos(), first.sin(), second.cos(), second.sin(), first_speed, second_speed];
        write_observation(values, observation);
    }
}

impl Default for Acrobot {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for Acrobot {
    fn spec(&self) -> &EnvSpec {
        &self.core.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        let observation = self.core.reset(seed, observation)?;
        for value in &mut self.state {
            // Gymnasium rounds the first state, and none after it, to single precision.
            *value = f64::from(self.core.rng.uniform(-START_SPREAD, START_SPREAD) as f32);
        }
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let observation = self.core.check_step(action, observation)?;
        let [first, second, first_speed, second_speed] =
            runge_kutta(self.state, f64::from(action[0]) - 1.0);
        let [first_limit, second_limit] = MAX_SPEED;
        self.state = [
            wrap(first),
            wrap(second),
            first_speed.clamp(-first_limit, first_limit),
            second_speed.clamp(-second_limit, second_limit),
        ];
        let [first, second, ..] = self.state;
        let terminated = -first.cos() - (second + first).cos() > 1.0;
        self.observe(observation);
        let reward = if terminated { 0.0 } else { -1.0 };
        Ok(self.core.finish_step(reward, terminated))
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.core.check_render()?;
        let mut canvas = Canvas::new(PICTURE, PICTURE);
        let scale = PICTURE as f64 / (2.0 * (2.0 * LINK_LENGTH + 0.2));
        let middle = PICTURE as f64 / 2.0;
        let height = (LINK_LENGTH * scale + middle).trunc();
        canvas.line(&[[0.0, height], [PICTURE as f64, height]], 1.0, BLACK);
        let [first, second, ..] = self.state;
        let length = LINK_LENGTH * scale;
        let elbow = [middle + length * first.sin(), middle - length * first.cos()];
        let half = 0.1 * scale;
        for (joint, angle) in [([middle; 2], first), (elbow, first + second)] {
            let corners = [[0.0, -half], [0.0, half], [length, half], [length, -half]];
            let corners = corners.map(|corner| {
                let [x, y] = rotate(corner, angle - FRAC_PI_2);
                [joint[0] + x, joint[1] + y]
            });
            canvas.polygon(whole_pixels(corners), LINK_COLOR);
            canvas.circle(joint.map(f64::trunc), half.trunc(), JOINT_COLOR);
        }
        Ok(Some(canvas.into_frame()))
    }
}

/// An angle from -π to π, turned back a circle at a time as Gymnasium does.
fn wrap(mut angle: f64) -> f64 {
    while angle > PI {
        angle -= 2.0 * PI;
    }
    while angle < -PI {
        angle += 2.0 * PI;
    }
    angle
}

/// The state after one step of the classical Runge-Kutta method.
fn runge_kutta(state: [f64; 4], torque: f64) -> [f64; 4] {
    let half = TIME_STEP / 2.0;
    let along =
        |slope: [f64; 4], time: f64| std::array::from_fn::<_, 4, _>(|i| state[i] + time * slope[i]);
    let k1 = derivatives(state, torque);
    let k2 = derivatives(along(k1, half), torque);
    let k3 = derivatives(along(k2, half), torque);
    let k4 = derivatives(along(k3, TIME_STEP), torque);
    along(std::array::from_fn(|i| k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]), TIME_STEP / 6.0)
}

/// The time derivatives of a state (Sutton and Barto, "Reinforcement Learning: An Introduction",
/// first edition, section 11.3), in Gymnasium's order of operations. Links have a length, a mass
/// and a moment of inertia of 1; their centres of mass are half way.
fn derivatives([first, second, first_speed, second_speed]: [f64; 4], torque: f64) -> [f64; 4] {
    let (sin, cos) = second.sin_cos();
    let d1 = 0.25 + (1.25 + cos) + 1.0 + 1.0;
    let d2 = 0.25 + 0.5 * cos + 1.0;
    let phi2 = 0.5 * GRAVITY * (first + second - FRAC_PI_2).cos();
    let phi1 = -0.5 * square(second_speed) * sin - second_speed * first_speed * sin
        + 1.5 * GRAVITY * (first - FRAC_PI_2).cos()
        + phi2;
    let second_acceleration = (torque + d2 / d1 * phi1 - 0.5 * square(first_speed) * sin - phi2)
        / (1.25 - square(d2) / d1);
    let first_acceleration = -(d2 * second_acceleration + phi1) / d1;
    [first_speed, second_speed, first_acceleration, second_acceleration]
}
