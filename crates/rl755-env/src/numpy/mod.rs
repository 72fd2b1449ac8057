//! What NumPy draws and computes, to the last bit, for environments that must equal Gymnasium's.

mod rng;
mod sum;
mod ziggurat;
mod ziggurat_tables;

use std::hint::black_box;

pub use rng::NumpyRng;
pub use sum::sum;

/// `x²` by the C library's `pow`, as NumPy's scalars compute `x ** 2`: once in a thousand times it
/// differs from `x * x` by a rounding, and the states would no longer have Gymnasium's very bits.
pub fn square(x: f64) -> f64 {
    // The compiler must not see the exponent: it would multiply.
    x.powf(black_box(2.0))
}

/// As [`square`], by `powf`. Here a rounding shows: Pendulum's rewards would differ by up to 1e-10.
pub fn square_f32(x: f32) -> f32 {
    x.powf(black_box(2.0))
}
