//! Uniform actions that are held for a while.

use rl755_env::{ObservationRef, Space};
use rl755_run::Random;

use super::Uniform;
use crate::Policy;

/// The longest time an action is held, in steps.
const LONGEST: usize = 10;

/// Holds each uniform action for 1 to 10 steps.
///
/// Source: the released code of Ha and Schmidhuber, *World Models* (2018), for Doom.
#[derive(Debug)]
pub(crate) struct Repeated {
    uniform: Uniform,
    random: Random,
    action: Vec<f32>,
    left: usize,
}

impl Repeated {
    pub(crate) fn new(space: &Space, seed: u64) -> Self {
        Self {
            uniform: Uniform::new(space, seed),
            random: Random::derived(seed, "repeated", 0),
            action: vec![0.0; space.width()],
            left: 0,
        }
    }
}

impl Policy for Repeated {
    fn act(&mut self, _observation: ObservationRef<'_>, action: &mut [f32]) {
        if self.left == 0 {
            self.uniform.draw(&mut self.action);
            self.left = 1 + self.random.below(LONGEST);
        }
        self.left -= 1;
        action.copy_from_slice(&self.action);
    }
}
