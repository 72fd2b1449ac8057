//! Actions drawn from the action space, each anew.

use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use rl755_env::{ObservationRef, Space};

use crate::Policy;

/// Draws each action from the space on its own.
#[derive(Debug)]
pub(crate) struct Uniform {
    space: Space,
    rng: Pcg64Mcg,
}

impl Uniform {
    pub(crate) fn new(space: &Space, seed: u64) -> Self {
        Self { space: space.clone(), rng: Pcg64Mcg::seed_from_u64(seed) }
    }

    pub(crate) fn draw(&mut self, action: &mut [f32]) {
        self.space.sample(&mut self.rng, action);
    }
}

impl Policy for Uniform {
    fn act(&mut self, _observation: ObservationRef<'_>, action: &mut [f32]) {
        self.draw(action);
    }
}
