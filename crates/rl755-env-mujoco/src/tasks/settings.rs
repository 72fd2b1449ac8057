//! What the tasks share: noise, the cost of actions, and checks of their settings.
//!
//! All in Gymnasium's order of operations: what depends on the action alone it computes in single
//! precision.

use mujoco_rs::prelude::MjtObjBase;
use rl755_env::numpy::{NumpyRng, sum};

use crate::task::Simulation;

/// Adds noise that is uniform within plus and minus `scale`.
pub(super) fn add_noise(rng: &mut NumpyRng, scale: f64, values: &mut [f64]) {
    for value in values {
        *value += rng.uniform(-scale, scale);
    }
}

/// Adds normal noise.
pub(super) fn add_normal_noise(rng: &mut NumpyRng, scale: f64, values: &mut [f64]) {
    for value in values {
        *value += scale * rng.standard_normal();
    }
}

/// `weight` times the squared action.
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

/// What is wrong with the settings that most tasks have.
pub(super) fn check_settings(
    frame_skip: u32,
    reset_noise_scale: f64,
    weights: &[(&str, f64)],
) -> Result<(), String> {
    if !(1..=1000).contains(&frame_skip) {
        return Err(format!("frame_skip is {frame_skip}; it must be 1 to 1000"));
    }
    if !(0.0..=1e6).contains(&reset_noise_scale) {
        return Err(format!("reset_noise_scale is {reset_noise_scale}; it must be 0 to 1e6"));
    }
    match weights.iter().find(|(_, weight)| !weight.is_finite()) {
        Some((name, weight)) => Err(format!("{name} is {weight}; it must be finite")),
        None => Ok(()),
    }
}

/// Whether `value` is between the two, exclusive.
pub(super) fn between(value: f64, [low, high]: [f64; 2]) -> bool {
    low < value && value < high
}

/// Refuses a range that holds nothing.
pub(super) fn check_range(name: &str, [low, high]: [f64; 2]) -> Result<(), String> {
    if low < high {
        return Ok(());
    }
    Err(format!("{name} is [{low},{high}]; its first value must be less than its second"))
}

/// Adds `values`, each within the two.
pub(super) fn push_clipped(to: &mut Vec<f64>, values: &[f64], [low, high]: [f64; 2]) {
    to.extend(values.iter().map(|value| value.clamp(low, high)));
}

/// Where the body called `name` is; the models here have it.
pub(super) fn body_position(simulation: &Simulation, name: &str) -> [f64; 3] {
    let body = simulation.model().name_to_id(MjtObjBase::mjOBJ_BODY, name);
    body.map_or([f64::NAN; 3], |body| simulation.xpos()[body])
}

/// `a` less `b`.
pub(super) fn difference(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| a[i] - b[i])
}

/// `np.linalg.norm`, with a BLAS that adds in order and without fused multiplications.
pub(super) fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}
