//! Pendulum-v1: a pendulum to swing up and to hold there by a weak motor, as in Gymnasium.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use serde::{Deserialize, Serialize};

use super::{
    Core,
    canvas::{BLACK, Canvas, Point, whole_pixels},
    rotate, write_observation,
};
use crate::{
    Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Space, Step,
    numpy::{square, square_f32},
};

/// The greatest speed, in radians per second.
const MAX_SPEED: f64 = 8.0;
/// The greatest torque either way, in newton metres.
const MAX_TORQUE: f32 = 2.0;
/// Seconds between two states.
const TIME_STEP: f64 = 0.05;
/// The first angle and the first velocity are uniform within plus and minus these.
const START_SPREAD: [f64; 2] = [PI, 1.0];
/// Width and height of the picture in pixels.
const PICTURE: usize = 500;
const ROD_COLOR: [u8; 3] = [204, 77, 77];

/// Which rules a [`Pendulum`] plays by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PendulumConfig {
    /// The acceleration of gravity in m/s², finite. Default 10.
    pub g: f64,
}

impl Default for PendulumConfig {
    fn default() -> Self {
        Self { g: 10.0 }
    }
}

/// A rod of 1 m and 1 kg to hold upright by a torque of -2 to 2 at its end.
///
/// The observation is `[cosine of the angle, its sine, angular velocity]`; the angle is 0 upright
/// and grows counter-clockwise. A step costs the square of the angle (taken from -π to π), a tenth
/// of the velocity's and a thousandth of the torque's; only the time limit of 200 steps ends an
/// episode. The same seed and actions give the same episode as Gymnasium's `Pendulum-v1`. Reset
/// without a seed the first time, it starts from one that the operating system chose.
#[derive(Clone, Debug)]
pub struct Pendulum {
    config: PendulumConfig,
    core: Core,
    state: [f64; 2],
    /// None until the first step of an episode.
    last_torque: Option<f32>,
}

impl Pendulum {
    /// The id this environment is registered under.
    pub const ID: &'static str = "Pendulum-v1";

    /// An environment that waits for its first reset, with the default rules.
    pub fn new() -> Self {
        Self::with_config(PendulumConfig::default())
    }

    /// An environment that waits for its first reset.
    pub fn with_config(config: PendulumConfig) -> Self {
        let high = vec![1.0, 1.0, MAX_SPEED as f32];
        let spec = EnvSpec {
            id: Self::ID.to_owned(),
            observation_space: Space::Box { low: high.iter().map(|bound| -bound).collect(), high },
            action_space: Space::Box { low: vec![-MAX_TORQUE], high: vec![MAX_TORQUE] },
            max_episode_steps: Some(200),
            rules: "-(angle² + 0.1 velocity² + 0.001 torque²) per step, the angle from upright; \
                    ends never but by the time limit"
                .to_owned(),
        };
        Self { config, core: Core::new(spec), state: [0.0; 2], last_torque: None }
    }

    /// Angle (not wrapped) and angular velocity in full precision.
    pub fn state(&self) -> [f64; 2] {
        self.state
    }

    fn observe(&self, observation: &mut [f32]) {
        let [angle, velocity] = self.state;
        write_observation([angle.cos(), angle.sin(), velocity], observation);
    }
}

impl Default for Pendulum {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for Pendulum {
    fn spec(&self) -> &EnvSpec {
        &self.core.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        let observation = self.core.reset(seed, observation)?;
        self.state = START_SPREAD.map(|spread| self.core.rng.uniform(-spread, spread));
        self.last_torque = None;
        self.observe(observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let observation = self.core.check_step(action, observation)?;
        let ([angle, velocity], torque) = (self.state, action[0]);
        // What depends on the torque alone, Gymnasium computes in single precision.
        let torque_cost = f64::from(0.001 * square_f32(torque));
        let cost = square(wrap(angle)) + 0.1 * square(velocity) + torque_cost;
        let acceleration = 3.0 * self.config.g / 2.0 * angle.sin() + f64::from(3.0 * torque);
        let velocity = (velocity + acceleration * TIME_STEP).clamp(-MAX_SPEED, MAX_SPEED);
        self.state = [angle + velocity * TIME_STEP, velocity];
        self.last_torque = Some(torque);
        self.observe(observation);
        Ok(self.core.finish_step(-cost, false))
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.core.check_render()?;
        let mut canvas = Canvas::new(PICTURE, PICTURE);
        let scale = PICTURE as f64 / 4.4;
        let middle = [PICTURE as f64 / 2.0; 2];
        let turned = |point: Point| {
            let [x, y] = rotate(point, self.state[0] + FRAC_PI_2);
            [middle[0] + x, middle[1] + y]
        };
        let half = 0.1 * scale;
        let corners = [[0.0, -half], [0.0, half], [scale, half], [scale, -half]].map(turned);
        canvas.polygon(whole_pixels(corners), ROD_COLOR);
        for end in [middle, turned([scale, 0.0]).map(f64::trunc)] {
            canvas.circle(end, half.trunc(), ROD_COLOR);
        }
        if let Some(torque) = self.last_torque {
            draw_torque(&mut canvas, middle, f64::from(torque), scale);
        }
        canvas.circle(middle, (0.05 * scale).trunc(), BLACK);
        Ok(Some(canvas.into_frame()))
    }
}

/// An angle from -π to π.
fn wrap(angle: f64) -> f64 {
    (angle + PI).rem_euclid(TAU) - PI
}

/// An arrow round the axle along three quarters of a circle; the greater the torque, the larger.
fn draw_torque(canvas: &mut Canvas, middle: Point, torque: f64, scale: f64) {
    const PARTS: usize = 48;
    let size = (scale * torque.abs() / f64::from(MAX_TORQUE)).trunc();
    if size == 0.0 {
        return;
    }
    // In the arrow's own measures its box is 1 wide and high; it runs clockwise and points up on
    // the left. A positive torque turns the other way.
    // The box lies on whole pixels, whose middles are the whole numbers.
    let corner = -(size / 2.0).floor() - 0.5;
    let place = |[x, y]: Point| {
        let x = if torque > 0.0 { 1.0 - x } else { x };
        [middle[0] + corner + size * x, middle[1] + corner + size * y]
    };
    let arc = std::array::from_fn::<_, { PARTS + 1 }, _>(|part| {
        let angle = FRAC_PI_2 - 1.5 * PI * part as f64 / PARTS as f64;
        place([0.526 + 0.459 * angle.cos(), 0.5 + 0.484 * angle.sin()])
    });
    canvas.line(&arc, 0.031 * size, BLACK);
    let [tip, left, right, notch] =
        [[0.067, 0.638], [0.005, 0.46], [0.13, 0.46], [0.067, 0.505]].map(place);
    canvas.polygon([tip, left, notch], BLACK);
    canvas.polygon([tip, right, notch], BLACK);
}
