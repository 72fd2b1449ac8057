//! NumPy's default random generator, for environments that must draw what Gymnasium draws.

use std::hash::{BuildHasher, RandomState};

use rand_core::Rng;
use rand_pcg::Lcg128Xsl64;

/// `numpy.random.default_rng(seed)`: PCG64 seeded through `SeedSequence`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumpyRng {
    pcg: Lcg128Xsl64,
    /// The upper half of the last 64 bits of which 32 were needed.
    half: Option<u32>,
}

impl NumpyRng {
    /// The generator of `seed`.
    pub fn new(seed: u64) -> Self {
        let [a, b, c, d] = SeedSequence::new(seed).words();
        let join = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        Self { pcg: Lcg128Xsl64::new(join(a, b), join(c, d)), half: None }
    }

    /// A generator whose seed nobody chose, as of an environment that is reset without one.
    pub fn from_entropy() -> Self {
        // The standard library's hash keys come from the operating system.
        Self::new(RandomState::new().hash_one(0))
    }

    /// `rng.random()`: uniform in 0..1, in steps of 2⁻⁵³.
    pub fn random(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// `rng.uniform(low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random()
    }

    /// `rng.integers(count)`: uniform in 0..count, by Lemire's method on 32 bits. Nothing is drawn
    /// when there is no choice.
    pub fn integers(&mut self, count: u32) -> u32 {
        if count <= 1 {
            return 0;
        }
        let least = count.wrapping_neg() % count;
        loop {
            let product = u64::from(self.next_u32()) * u64::from(count);
            if product as u32 >= least {
                return (product >> 32) as u32;
            }
        }
    }

    /// 64 bits.
    pub(super) fn next_u64(&mut self) -> u64 {
        self.pcg.next_u64()
    }

    /// 32 bits: the lower half of 64, then the upper half, whatever was drawn in between.
    fn next_u32(&mut self) -> u32 {
        self.half.take().unwrap_or_else(|| {
            let both = self.pcg.next_u64();
            self.half = Some((both >> 32) as u32);
            both as u32
        })
    }
}

/// `numpy.random.SeedSequence(seed)` with its default pool of four words.
struct SeedSequence {
    pool: [u32; 4],
}

impl SeedSequence {
    fn new(seed: u64) -> Self {
        let entropy = [seed as u32, (seed >> 32) as u32, 0, 0];
        let mut constant = 0x43b0_d7e5;
        let mut pool = entropy.map(|word| hash(word, &mut constant, 0x931e_8875));
        for source in 0..pool.len() {
            for target in 0..pool.len() {
                if source != target {
                    let hashed = hash(pool[source], &mut constant, 0x931e_8875);
                    pool[target] = mix(pool[target], hashed);
                }
            }
        }
        Self { pool }
    }

    /// `generate_state(4, numpy.uint64)`.
    fn words(&self) -> [u64; 4] {
        let mut constant = 0x8b51_f9dd;
        let mut next =
            |i: usize| u64::from(hash(self.pool[i % self.pool.len()], &mut constant, 0x58f3_8ded));
        std::array::from_fn(|i| next(2 * i) | next(2 * i + 1) << 32)
    }
}

fn hash(value: u32, constant: &mut u32, multiplier: u32) -> u32 {
    let value = value ^ *constant;
    *constant = constant.wrapping_mul(multiplier);
    let value = value.wrapping_mul(*constant);
    value ^ value >> 16
}

fn mix(x: u32, y: u32) -> u32 {
    let mixed = x.wrapping_mul(0xca01_f9dd).wrapping_sub(y.wrapping_mul(0x4973_f715));
    mixed ^ mixed >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: `numpy.random.default_rng(seed).random(3)`, numpy 2.4.6.
    fn check(seed: u64, expected: [f64; 3]) {
        let mut rng = NumpyRng::new(seed);
        assert_eq!([rng.random(), rng.random(), rng.random()], expected, "seed {seed}");
    }

    #[test]
    fn draws_equal_numpys() {
        check(0, [0.636_961_687_321_454_3, 0.269_786_713_763_870_3, 0.040_973_523_936_194_69]);
        check(1, [0.5118216247002567, 0.9504636963259353, 0.14415961271963373]);
    }

    #[test]
    fn seeds_beyond_32_bits_equal_numpys() {
        check(1 << 32, [0.8897387912781343, 0.5571380502062263, 0.8009080868919721]);
        check(u64::MAX, [0.6800266789616931, 0.8453117585624743, 0.007403081599260064]);
    }

    #[test]
    fn integers_equal_numpys_with_other_draws_in_between() {
        // rng = numpy.random.default_rng(0); rng.integers(3), rng.random(), rng.integers(3), …
        let mut rng = NumpyRng::new(0);
        let drawn: Vec<(u32, f64)> = (0..4).map(|_| (rng.integers(3), rng.random())).collect();
        let floats =
            [0.2697867137638703, 0.04097352393619469, 0.8132702392002724, 0.9127555772777217];
        assert_eq!(drawn, [2, 1, 0, 0].into_iter().zip(floats).collect::<Vec<_>>());
        let mut rng = NumpyRng::new(1);
        assert_eq!(
            [300, 7, 1 << 31, 1].map(|count| rng.integers(count)),
            [141, 3, 1_621_709_875, 0]
        );
    }

    #[test]
    fn entropy_differs_from_call_to_call() {
        assert_ne!(NumpyRng::from_entropy(), NumpyRng::from_entropy());
    }
}
