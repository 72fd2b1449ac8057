//! Exponentials and what is made of them, as arithmetic that compilers vectorise.

use crate::simd::vectorized;

/// e^x to 2 units in the last place; 0 below -87.3 (nearly), the largest below infinity above 88.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Adding 1.5 · 2^23 rounds to a whole number, which then stands in the last bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, the first with few bits, so that its multiples are exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.3, 88.0);
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
    // The polynomial of Cephes' expf (Moshier 1984) on ±ln(2)/2.
    let mut p = 1.987_569_1e-4f32;
    for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5.000_000_3e-1] {
        p = p.mul_add(r, coefficient);
    }
    let p = (r * r).mul_add(p, r) + 1.0;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    p * power
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The hyperbolic tangent, to about 1e-7 absolute.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    1.0 - 2.0 / (1.0 + exp(2.0 * x))
}

/// The Gaussian error linear unit in the form with tanh, `x · σ(2 √(2/π) (x + 0.044715 x³))`.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    x * sigmoid(x * (x * x).mul_add(0.071_354_814, 1.595_769_2))
}

/// The Gaussian error linear unit of every number.
pub fn gelu_all(x: &mut [f32]) {
    vectorized(
        #[inline(always)]
        move || x.iter_mut().for_each(|x| *x = gelu(*x)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest error of `f` over -20..20, relative to 1 or to the value where that is larger.
    fn check(f: fn(f32) -> f32, exact: fn(f64) -> f64, limit: f64) {
        for i in -200_000..200_000 {
            let x = i as f32 * 1e-4;
            let expected = exact(f64::from(x));
            let error = (f64::from(f(x)) - expected).abs() / expected.abs().max(1.0);
            assert!(error < limit, "{x}: {} for {expected}", f(x));
        }
    }

    #[test]
    fn functions_are_accurate() {
        check(exp, f64::exp, 2e-7);
        check(sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 2e-7);
        check(tanh, f64::tanh, 3e-7);
        check(
            gelu,
            |x| {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
                0.5 * x * (1.0 + inner.tanh())
            },
            1e-6,
        );
    }

    #[test]
    fn exp_stays_finite_and_positive() {
        for x in [-1e30, -100.0, 100.0, 1e30] {
            let y = exp(x);
            assert!(y.is_finite() && y > 0.0, "{x}: {y}");
        }
        assert!(tanh(1e30) == 1.0 && tanh(-1e30) == -1.0);
        assert!(sigmoid(1e30) == 1.0 && sigmoid(-1e30) < 1e-37);
    }

    #[test]
    fn nan_stays_nan() {
        assert!(exp(f32::NAN).is_nan() && tanh(f32::NAN).is_nan() && gelu(f32::NAN).is_nan());
    }
}
