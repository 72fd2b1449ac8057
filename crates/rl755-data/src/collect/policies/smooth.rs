//! Smooth noise: a car that is driven by it moves.

use rl755_env::{ObservationRef, Space};
use rl755_run::Random;

use super::{check_space, noise_scale, perlin::perlin};
use crate::{Policy, PolicyError};

/// Perlin noise along time, `1.7 perlin(i / 200 + start)` with 5 octaves, clipped into the space.
/// Each element of the action starts at a random place of the noise, in [0, 10000).
///
/// Source: the random policy for CarRacing of the original Python project. In other spaces the
/// noise is scaled with the bounds, and a discrete action divides [-1, 1] into n equal parts.
#[derive(Debug)]
pub(crate) struct Smooth {
    space: Space,
    starts: Vec<f64>,
    step: u64,
}

impl Smooth {
    const AMPLITUDE: f64 = 1.7;
    const STEPS_PER_UNIT: f64 = 200.0;
    const OCTAVES: u32 = 5;
    const FARTHEST_START: f64 = 10_000.0;

    pub(crate) fn new(space: &Space, seed: u64) -> Result<Self, PolicyError> {
        check_space(space)?;
        let mut random = Random::derived(seed, "smooth", 0);
        let starts =
            (0..space.width()).map(|_| random.uniform(0.0, Self::FARTHEST_START)).collect();
        Ok(Self { space: space.clone(), starts, step: 0 })
    }
}

impl Policy for Smooth {
    fn act(&mut self, _observation: ObservationRef<'_>, action: &mut [f32]) {
        let time = self.step as f64 / Self::STEPS_PER_UNIT;
        self.step += 1;
        for (index, (action, start)) in action.iter_mut().zip(&self.starts).enumerate() {
            let noise = Self::AMPLITUDE * perlin(start + time, Self::OCTAVES);
            *action = match self.space {
                Space::Discrete { n } => {
                    let cell = (noise.clamp(-1.0, 1.0) + 1.0) / 2.0 * n as f64;
                    cell.floor().min(n as f64 - 1.0) as f32
                }
                _ => {
                    let (low, high) = self.space.bounds(index);
                    ((noise * noise_scale(&self.space, index)) as f32).clamp(low, high)
                }
            };
        }
    }
}
