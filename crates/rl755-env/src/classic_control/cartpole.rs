//! CartPole-v1: the pole on a cart of Barto, Sutton and Anderson (1983), as in Gymnasium.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::{
    Core,
    canvas::{BLACK, Canvas, whole_pixels},
    rotate, write_observation,
};
use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Space, Step};

const GRAVITY: f64 = 9.8;
const CART_MASS: f64 = 1.0;
const POLE_MASS: f64 = 0.1;
const TOTAL_MASS: f64 = POLE_MASS + CART_MASS;
/// Half the pole's length.
const LENGTH: f64 = 0.5;
const POLE_MASS_LENGTH: f64 = POLE_MASS * LENGTH;
const FORCE: f64 = 10.0;
/// Seconds between two states.
const TIME_STEP: f64 = 0.02;
/// The episode ends when the pole leans further, in radians (12 degrees).
const MAX_ANGLE: f64 = 12.0 * 2.0 * PI / 360.0;
/// The episode ends when the cart is further from the middle.
const MAX_POSITION: f64 = 2.4;
/// Each element of the first state is uniform within plus and minus this.
const START_SPREAD: f64 = 0.05;

/// Width and height of the picture in pixels.
const PICTURE: [usize; 2] = [600, 400];
const POLE_COLOR: [u8; 3] = [202, 152, 101];
const AXLE_COLOR: [u8; 3] = [129, 132, 203];

/// Which rules a [`CartPole`] plays by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CartPoleConfig {
    /// Reward a step with 0, and the last with -1, as Sutton and Barto do, instead of 1. Default
    /// false.
    pub sutton_barto_reward: bool,
}

/// A pole to balance on a cart that is pushed left (action 0) or right (action 1).
///
/// The observation is `[cart position, cart velocity, pole angle, pole angular velocity]`; every
/// step is rewarded with 1, unless [`CartPoleConfig`] says otherwise. The same seed and actions give the same episode as Gymnasium's
/// `CartPole-v1`. Reset without a seed the first time, it starts from one that the operating system chose.
#[derive(Clone, Debug)]
pub struct CartPole {
    config: CartPoleConfig,
    core: Core,
    state: [f64; 4],
}

impl CartPole {
    /// The id this environment is registered under.
    pub const ID: &'static str = "CartPole-v1";

    /// An environment that waits for its first reset, with the default rules.
    pub fn new() -> Self {
        Self::with_config(CartPoleConfig::default())
    }

    /// An environment that waits for its first reset.
    pub fn with_config(config: CartPoleConfig) -> Self {
        let high =
            vec![MAX_POSITION as f32 * 2.0, f32::INFINITY, (MAX_ANGLE * 2.0) as f32, f32::INFINITY];
        let spec = EnvSpec {
            id: Self::ID.to_owned(),
            observation_space: Space::Box { low: high.iter().map(|bound| -bound).collect(), high },
            action_space: Space::Discrete { n: 2 },
            max_episode_steps: Some(500),
            rules: format!(
                "{}; ends when the pole leans beyond 12 degrees or the cart is beyond 2.4",
                if config.sutton_barto_reward {
                    "0 per step, -1 for the last"
                } else {
                    "1 per step"
                }
            ),
        };
        Self { config, core: Core::new(spec), state: [0.0; 4] }
    }

    /// The state in full precision, in the observation's order.
    pub fn state(&self) -> [f64; 4] {
        self.state
    }
}

impl Default for CartPole {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for CartPole {
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
            *value = self.core.rng.uniform(-START_SPREAD, START_SPREAD);
        }
        write_observation(self.state, observation);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let observation = self.core.check_step(action, observation)?;
        self.state = advance(self.state, if action[0] == 1.0 { FORCE } else { -FORCE });
        write_observation(self.state, observation);
        let terminated = self.state[0].abs() > MAX_POSITION || self.state[2].abs() > MAX_ANGLE;
        let reward = match (self.config.sutton_barto_reward, terminated) {
            (false, _) => 1.0,
            (true, false) => 0.0,
            (true, true) => -1.0,
        };
        Ok(self.core.finish_step(reward, terminated))
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.core.check_render()?;
        let [width, height] = PICTURE;
        let mut canvas = Canvas::new(width, height);
        let scale = width as f64 / (2.0 * MAX_POSITION);
        let [cart_width, cart_height, pole_width] = [50.0, 30.0, 10.0];
        let cart = [self.state[0] * scale + width as f64 / 2.0, 100.0];
        let axle = [cart[0], cart[1] + cart_height / 4.0];
        let corner =
            |x: f64, y: f64| [cart[0] + x * cart_width / 2.0, cart[1] + y * cart_height / 2.0];
        let corners = [corner(-1.0, -1.0), corner(-1.0, 1.0), corner(1.0, 1.0), corner(1.0, -1.0)];
        canvas.polygon(whole_pixels(corners), BLACK);
        let half = pole_width / 2.0;
        let top = scale * 2.0 * LENGTH - half;
        let corners = [[-half, -half], [-half, top], [half, top], [half, -half]].map(|corner| {
            let [x, y] = rotate(corner, -self.state[2]);
            [axle[0] + x, axle[1] + y]
        });
        canvas.polygon(whole_pixels(corners), POLE_COLOR);
        canvas.circle(axle.map(f64::trunc), half, AXLE_COLOR);
        canvas.line(&[[0.0, cart[1]], [width as f64, cart[1]]], 1.0, BLACK);
        Ok(Some(canvas.into_frame()))
    }
}

/// One Euler step of the equations of motion (Florian, "Correct equations for the dynamics of the
/// cart-pole system", 2007, equations 23 and 24 without friction), in Gymnasium's order.
fn advance([x, x_dot, theta, theta_dot]: [f64; 4], force: f64) -> [f64; 4] {
    let (sin, cos) = theta.sin_cos();
    let pushed = (force + POLE_MASS_LENGTH * (theta_dot * theta_dot) * sin) / TOTAL_MASS;
    let angular_acceleration = (GRAVITY * sin - cos * pushed)
        / (LENGTH * (4.0 / 3.0 - POLE_MASS * (cos * cos) / TOTAL_MASS));
    let acceleration = pushed - POLE_MASS_LENGTH * angular_acceleration * cos / TOTAL_MASS;
    [
        x + TIME_STEP * x_dot,
        x_dot + TIME_STEP * acceleration,
        theta + TIME_STEP * theta_dot,
        theta_dot + TIME_STEP * angular_acceleration,
    ]
}
