//! Classic control: five small tasks of mechanics with the states of Gymnasium 1.4.0.
//!
//! States are kept in the precision that Gymnasium keeps them in, and computed in its order of
//! operations; sines, cosines and powers are the system's, as they are NumPy's.

mod acrobot;
mod canvas;
mod cartpole;
mod hill;
mod mountain_car;
mod mountain_car_continuous;
mod pendulum;

use std::hint::black_box;

pub use acrobot::Acrobot;
pub use cartpole::{CartPole, CartPoleConfig};
pub use mountain_car::{MountainCar, MountainCarConfig};
pub use mountain_car_continuous::MountainCarContinuous;
pub use pendulum::{Pendulum, PendulumConfig};

use crate::{EnvError, EnvSpec};

/// Where an environment is between two resets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    NotReset,
    Running,
    Over,
}

impl Phase {
    /// Refuses a step that no reset precedes.
    fn check_step(self, spec: &EnvSpec) -> Result<(), EnvError> {
        match self {
            Self::NotReset => Err(spec.not_reset()),
            Self::Running => Ok(()),
            Self::Over => Err(spec.episode_over()),
        }
    }

    /// Refuses a picture of a state that no reset made.
    fn check_render(self, spec: &EnvSpec) -> Result<(), EnvError> {
        if self == Self::NotReset { Err(spec.not_reset()) } else { Ok(()) }
    }
}

/// `x²` by the C library's `pow`, as NumPy's scalars compute `x ** 2`: once in a thousand times it
/// differs from `x * x` by a rounding, and the states would no longer have Gymnasium's very bits.
fn square(x: f64) -> f64 {
    // The compiler must not see the exponent: it would multiply.
    x.powf(black_box(2.0))
}

/// As [`square`], by `powf`. Here a rounding shows: Pendulum's rewards would differ by up to 1e-10.
fn square_f32(x: f32) -> f32 {
    x.powf(black_box(2.0))
}

/// A point turned counter-clockwise about the origin by an angle in radians.
fn rotate([x, y]: [f64; 2], angle: f64) -> [f64; 2] {
    let (sin, cos) = angle.sin_cos();
    [x * cos - y * sin, x * sin + y * cos]
}
