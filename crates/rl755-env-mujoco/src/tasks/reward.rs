//! Terms of the rewards, in Gymnasium's order of operations.

use rl755_env::numpy::sum;

use crate::task::Outcome;

/// `weight` times the squared action. What depends on the action alone Gymnasium computes in single
/// precision.
pub(super) fn control_cost(weight: f64, action: &[f32]) -> f64 {
    f64::from(weight as f32 * sum_of_squares_f32(action))
}

fn sum_of_squares_f32(action: &[f32]) -> f32 {
    // No model has more motors than Humanoid's 17.
    let mut squares = [0.0; 32];
    let squares = &mut squares[..action.len().min(32)];
    for (square, value) in squares.iter_mut().zip(action) {
        *square = value * value;
    }
    sum(squares)
}

/// The sum of the squares of doubles.
pub(super) fn sum_of_squares(values: impl Iterator<Item = f64>) -> f64 {
    sum(&values.map(|value| value * value).collect::<Vec<f64>>())
}

/// Whether a robot is healthy, with the settings that say what follows from it.
pub(super) struct Health {
    pub(super) healthy: bool,
    pub(super) healthy_reward: f64,
    pub(super) terminate_when_unhealthy: bool,
}

impl Health {
    /// What a step is worth that is rewarded for getting ahead as well, and costs something.
    pub(super) fn outcome(&self, forward_reward: f64, costs: f64) -> Outcome {
        let healthy_reward = if self.healthy { self.healthy_reward } else { 0.0 };
        Outcome {
            reward: forward_reward + healthy_reward - costs,
            terminated: !self.healthy && self.terminate_when_unhealthy,
        }
    }
}
