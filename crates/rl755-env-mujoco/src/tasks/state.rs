//! The state that an episode begins with, and what is read from a state.

use mujoco_rs::prelude::MjtObjBase;
use rl755_env::numpy::NumpyRng;

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

/// Whether `value` is between the two, exclusive.
pub(super) fn between(value: f64, [low, high]: [f64; 2]) -> bool {
    low < value && value < high
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
