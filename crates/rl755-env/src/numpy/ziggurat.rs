//! NumPy's normal distribution: Marsaglia and Tsang's ziggurat with NumPy's use of the bits.

use super::{
    NumpyRng,
    ziggurat_tables::{HEIGHTS, INSIDE, WIDTHS},
};

/// Where the tail begins.
const TAIL: f64 = 3.654_152_885_361_009;
/// One over it.
const OVER_TAIL: f64 = 0.273_661_237_329_758_3;

impl NumpyRng {
    /// `rng.standard_normal()`.
    pub fn standard_normal(&mut self) -> f64 {
        loop {
            let bits = self.next_u64();
            let layer = (bits & 0xff) as usize;
            let magnitude = bits >> 9 & 0x000f_ffff_ffff_ffff;
            let negative = bits >> 8 & 1 == 1;
            let x = magnitude as f64 * WIDTHS[layer];
            let x = if negative { -x } else { x };
            if magnitude < INSIDE[layer] {
                return x;
            }
            if layer == 0 {
                let beyond = self.beyond_tail();
                return if magnitude >> 8 & 1 == 1 { -beyond } else { beyond };
            }
            let (above, below) = (HEIGHTS[layer - 1], HEIGHTS[layer]);
            if (above - below) * self.random() + below < (-0.5 * x * x).exp() {
                return x;
            }
        }
    }

    fn beyond_tail(&mut self) -> f64 {
        loop {
            let x = -OVER_TAIL * (-self.random()).ln_1p();
            let y = -(-self.random()).ln_1p();
            if y + y > x * x {
                return TAIL + x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // What NumPy 2.4.6 draws: tests/golden/ziggurat.py.
    #[test]
    fn draws_equal_numpys() {
        let mut rng = NumpyRng::new(0);
        let first = [(); 4].map(|()| rng.standard_normal());
        let expected =
            [0.1257302210933933, -0.1321048632913019, 0.6404226504432821, 0.10490011715303971];
        assert_eq!(first, expected);
    }

    #[test]
    fn a_million_draws_have_numpys_bits() {
        let mut rng = NumpyRng::new(1);
        let hash = (0..1_000_000).fold(0xcbf2_9ce4_8422_2325_u64, |hash, _| {
            (hash ^ rng.standard_normal().to_bits()).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!(hash, 0xd162_458c_9a73_046b);
    }
}
