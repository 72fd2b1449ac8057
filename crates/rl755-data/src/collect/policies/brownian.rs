//! Actions that move like a particle.

use rl755_env::{ObservationRef, Space};
use rl755_run::Random;

use super::{Uniform, check_space, noise_scale};
use crate::{Policy, PolicyError};

/// The time between two actions, in seconds.
const TIME_STEP: f64 = 1.0 / 50.0;

/// Brownian motion within the space: `a' = clip(a + sqrt(dt) n)` with standard normal `n`, from a
/// uniform start.
///
/// Source: `sample_continuous_policy` of <https://github.com/ctallec/world-models>. There the
/// actions are those of CarRacing; in other spaces the steps are scaled with the bounds, and a
/// discrete action is a particle that moves over n cells.
#[derive(Debug)]
pub(crate) struct Brownian {
    space: Space,
    random: Random,
    position: Vec<f64>,
    started: bool,
}

impl Brownian {
    pub(crate) fn new(space: &Space, seed: u64) -> Result<Self, PolicyError> {
        check_space(space)?;
        let mut random = Random::derived(seed, "brownian", 0);
        let position = match space {
            Space::Discrete { n } => vec![random.uniform(0.0, *n as f64)],
            _ => {
                let mut start = vec![0.0; space.width()];
                Uniform::new(space, seed).draw(&mut start);
                start.into_iter().map(f64::from).collect()
            }
        };
        Ok(Self { space: space.clone(), random, position, started: false })
    }

    fn advance(&mut self) {
        for (index, position) in self.position.iter_mut().enumerate() {
            let (low, high, scale) = match self.space {
                Space::Discrete { n } => (0.0, n as f64, n as f64 / 2.0),
                _ => {
                    let (low, high) = self.space.bounds(index);
                    (f64::from(low), f64::from(high), noise_scale(&self.space, index))
                }
            };
            let step = scale * TIME_STEP.sqrt() * self.random.normal();
            *position = (*position + step).clamp(low, high);
        }
    }
}

impl Policy for Brownian {
    fn act(&mut self, _observation: ObservationRef<'_>, action: &mut [f32]) {
        if self.started {
            self.advance();
        }
        self.started = true;
        for (action, &position) in action.iter_mut().zip(&self.position) {
            *action = match self.space {
                Space::Discrete { n } => position.floor().min(n as f64 - 1.0) as f32,
                _ => position as f32,
            };
        }
    }
}
