//! Dropout (Srivastava et al. 2014) that is the same on every device.

use burn::tensor::{Device, Distribution, Tensor, TensorData};
use pulp::{Arch, NullaryFnOnce};

/// Sets a random share `rate` of `x` to 0 and scales up the rest, in training, which is where the
/// device has gradients.
///
/// What is dropped derives from the random stream of [`rl755_nn::seeded`].
pub(crate) fn dropout<const D: usize>(x: Tensor<D>, rate: f64) -> Tensor<D> {
    if rate == 0.0 || !x.device().is_autodiff() {
        return x;
    }
    let mut mask = vec![0.0; x.shape().num_elements()];
    Arch::new().dispatch(Mask { mask: &mut mask, rate, seeds: draw_seeds() });
    let mask = Tensor::from_data(TensorData::new(mask, x.dims()), &x.device());
    x * mask
}

/// Two words from the CPU's stream, 24 random bits each.
fn draw_seeds() -> [u32; 2] {
    let drawn = Tensor::<1>::random([2], Distribution::Uniform(0.0, 1.0), &Device::flex());
    let word = |index: usize| drawn.clone().narrow(0, index, 1).into_scalar::<f32>();
    [word(0), word(1)].map(|unit| (unit * (1 << 24) as f32) as u32)
}

/// Fills a mask with 0 and 1 / (1 - rate), compiled for each set of vector instructions.
struct Mask<'a> {
    mask: &'a mut [f32],
    rate: f64,
    seeds: [u32; 2],
}

impl NullaryFnOnce for Mask<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let threshold = (self.rate * f64::from(u32::MAX)) as u32;
        let kept = (1.0 / (1.0 - self.rate)) as f32;
        let [first, second] = self.seeds.map(mix);
        for (index, value) in self.mask.iter_mut().enumerate() {
            let random = mix(mix((index as u32).wrapping_add(first)) ^ second);
            *value = if random < threshold { 0.0 } else { kept };
        }
    }
}

/// A permutation of the 32-bit words without visible pattern (Wellons 2018, "lowbias32").
#[inline(always)]
fn mix(word: u32) -> u32 {
    let word = (word ^ (word >> 16)).wrapping_mul(0x7feb_352d);
    let word = (word ^ (word >> 15)).wrapping_mul(0x846c_a68b);
    word ^ (word >> 16)
}

#[cfg(test)]
mod tests {
    use rl755_nn::seeded;

    use super::*;
    use crate::values::values;

    #[test]
    fn the_share_is_right_and_the_mean_stays() {
        let device = Device::flex().autodiff();
        let ones = || Tensor::<2>::ones([300, 500], &device);
        let dropped = |seed| seeded(&device, seed, || values(dropout(ones(), 0.1)));
        let first = dropped(1);
        let zeros = first.iter().filter(|v| **v == 0.0).count() as f64 / 150_000.0;
        assert!((zeros - 0.1).abs() < 0.004, "{zeros}");
        // Neighbours are independent.
        let pairs = first.windows(2).filter(|w| w[0] == 0.0 && w[1] == 0.0).count() as f64;
        assert!((pairs / 150_000.0 - 0.01).abs() < 0.002, "{pairs}");
        let mean = first.iter().map(|v| f64::from(*v)).sum::<f64>() / 150_000.0;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!(first == dropped(1) && first != dropped(2));
    }

    #[test]
    fn nothing_is_dropped_without_gradients() {
        let ones = Tensor::<1>::ones([100], &Device::flex());
        assert!(values(dropout(ones, 0.5)).iter().all(|v| *v == 1.0));
    }
}
