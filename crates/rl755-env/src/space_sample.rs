//! Drawing values from a space.

use rand_core::Rng;

use crate::Space;

impl Space {
    /// Draws a value into `value`, as Gymnasium's `sample` does: uniform between finite bounds,
    /// exponential away from a single one, standard normal without any; each element on its own.
    ///
    /// # Panics
    /// When `value` has not [`width`](Self::width) elements.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R, value: &mut [f32]) {
        assert_eq!(value.len(), self.width(), "one element of {self}");
        for (index, element) in value.iter_mut().enumerate() {
            let (low, high) = self.bounds(index);
            *element = match self {
                Self::Box { .. } => sample_interval(low, high, rng),
                Self::Image { .. } | Self::Discrete { .. } => {
                    (unit(rng) * (f64::from(high) + 1.0)).floor() as f32
                }
            };
        }
    }
}

/// Uniform in [0, 1) with 53 bits.
fn unit<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn sample_interval<R: Rng + ?Sized>(low: f32, high: f32, rng: &mut R) -> f32 {
    let (low_f64, high_f64) = (f64::from(low), f64::from(high));
    // 1 - unit is never 0, so its logarithm is finite.
    let value = match (low.is_finite(), high.is_finite()) {
        (true, true) => low_f64 + (high_f64 - low_f64) * unit(rng),
        (true, false) => low_f64 - (1.0 - unit(rng)).ln(),
        (false, true) => high_f64 + (1.0 - unit(rng)).ln(),
        (false, false) => {
            // Box and Muller's transform.
            let radius = (-2.0 * (1.0 - unit(rng)).ln()).sqrt();
            radius * (std::f64::consts::TAU * unit(rng)).cos()
        }
    };
    // Rounding to f32 must not step over a bound.
    (value as f32).clamp(low, high)
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn draws(space: &Space, count: usize) -> Vec<Vec<f32>> {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut value = vec![0.0; space.width()];
        (0..count)
            .map(|_| {
                space.sample(&mut rng, &mut value);
                assert!(space.contains(&value), "{value:?} is not in {space}");
                value.clone()
            })
            .collect()
    }

    #[test]
    fn samples_lie_in_the_space_whatever_its_bounds() {
        let inf = f32::INFINITY;
        draws(
            &Space::Box { low: vec![-1.0, 3.0, -inf, -inf], high: vec![1.0, inf, -3.0, inf] },
            500,
        );
        draws(&Space::Image { height: 2, width: 3, channels: 3 }, 50);
        draws(&Space::Box { low: vec![0.5], high: vec![0.5] }, 5);
    }

    #[test]
    fn discrete_samples_are_even() {
        let mut counts = [0; 3];
        for value in draws(&Space::Discrete { n: 3 }, 3000) {
            counts[value[0] as usize] += 1;
        }
        assert!(counts.iter().all(|&c| (900..1100).contains(&c)), "{counts:?}");
    }

    #[test]
    fn uniform_samples_have_the_interval_s_mean() {
        let space = Space::Box { low: vec![-1.0], high: vec![3.0] };
        let mean = draws(&space, 4000).iter().map(|v| f64::from(v[0])).sum::<f64>() / 4000.0;
        assert!((mean - 1.0).abs() < 0.06, "{mean}");
    }
}
