//! Exponentials and what is made of them, as arithmetic that compilers vectorise.

/// e^x to 2 units in the last place; 0 below -87.3 (nearly), the largest below infinity above 88.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
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
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The hyperbolic tangent, to about 1e-7 absolute.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    1.0 - 2.0 / (1.0 + exp(2.0 * x))
}

/// x·Φ(x), with the error function by Abramowitz & Stegun 7.1.26 (1.5e-7 absolute).
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / z.mul_add(0.327_591_1, 1.0);
    let mut p = 1.061_405_4f32;
    for coefficient in [-1.453_152, 1.421_413_8, -0.284_496_74, 0.254_829_6] {
        p = p.mul_add(t, coefficient);
    }
    let tail = p * t * exp(-z * z);
    let error_function = (1.0 - tail).copysign(x);
    0.5 * x * (1.0 + error_function)
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
        // The tanh form differs by 5e-4 at most; the series below is exact.
        check(
            gelu,
            |x| {
                let z = x / std::f64::consts::SQRT_2;
                0.5 * x * (1.0 + error_function(z))
            },
            1e-6,
        );
    }

    /// The error function by its Taylor series, or its limit.
    fn error_function(z: f64) -> f64 {
        if z.abs() > 4.0 {
            return z.signum();
        }
        let (mut term, mut sum) = (z, z);
        for n in 1..120 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
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
