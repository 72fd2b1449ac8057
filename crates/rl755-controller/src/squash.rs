//! From a controller's raw outputs to values of an action space.

use rl755_env::Space;
use serde::{Deserialize, Serialize};

/// How a raw output x becomes an element of an action within its bounds.
///
/// Elements without finite bounds take x as it is, clamped to the bound they have, under each of
/// these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Squash {
    /// `low + (tanh(x) + 1) / 2 * (high - low)`: 0 gives the middle.
    #[default]
    Tanh,
    /// `low + (high - low) / (1 + exp(-x))`: 0 gives the middle, and it is half as steep.
    Sigmoid,
    /// `tanh(x)` clamped to the bounds: for [0, 1], everything below 0 gives 0.
    ClippedTanh,
    /// x clamped to the bounds.
    Clip,
}

impl Squash {
    /// The action element for the raw output `x`, within `low` and `high`.
    pub fn apply(self, x: f32, low: f32, high: f32) -> f32 {
        if !(low.is_finite() && high.is_finite()) {
            return clamp(x, low, high);
        }
        match self {
            Self::Tanh => clamp(low + (x.tanh() + 1.0) / 2.0 * (high - low), low, high),
            Self::Sigmoid => clamp(low + (high - low) / (1.0 + (-x).exp()), low, high),
            Self::ClippedTanh => clamp(x.tanh(), low, high),
            Self::Clip => clamp(x, low, high),
        }
    }
}

/// As `f32::clamp`, for bounds that may be infinite; NaN stays NaN.
fn clamp(x: f32, low: f32, high: f32) -> f32 {
    if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    }
}

/// How many raw outputs an action of `space` is chosen from: one for each element, or for each
/// choice of a discrete action. `None` for pictures.
pub(crate) fn num_outputs(space: &Space) -> Option<usize> {
    match space {
        Space::Box { low, .. } => Some(low.len()),
        Space::Discrete { n } => Some(*n),
        Space::Image { .. } => None,
    }
}

/// The index of the greatest output, the first of equals.
pub(crate) fn argmax(outputs: &[f32]) -> usize {
    let mut best = 0;
    for (index, &output) in outputs.iter().enumerate() {
        if output > outputs[best] {
            best = index;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(squash: Squash, (low, high): (f32, f32), x: f32, expected: f32) {
        let got = squash.apply(x, low, high);
        assert!((got - expected).abs() < 1e-6, "{squash:?} of {x} in {low}..{high}: {got}");
        assert!((low..=high).contains(&got));
    }

    #[test]
    fn outputs_reach_their_bounds_and_no_further() {
        let inf = f32::INFINITY;
        check(Squash::Tanh, (-1.0, 1.0), 0.5, 0.5f32.tanh());
        check(Squash::Tanh, (-0.1, 0.3), 0.0, 0.1);
        check(Squash::Tanh, (0.0, 1.0), 1e9, 1.0);
        check(Squash::Sigmoid, (0.0, 1.0), 0.0, 0.5);
        check(Squash::Sigmoid, (0.0, 1.0), -1e9, 0.0);
        check(Squash::ClippedTanh, (0.0, 1.0), -0.2, 0.0);
        check(Squash::ClippedTanh, (0.0, 1.0), 0.2, 0.2f32.tanh());
        check(Squash::Clip, (-2.0, 2.0), 1.5, 1.5);
        check(Squash::Tanh, (-inf, inf), 7.0, 7.0);
        check(Squash::Tanh, (0.0, inf), -7.0, 0.0);
    }
}
