//! Dropout (Srivastava et al. 2014) that is the same on every device.

use burn::tensor::{Device, Shape, Tensor, TensorData};
use rl755_nn::dropout_mask;

/// Sets a random share `rate` of `x` to 0 and scales up the rest, in training, which is where the
/// device has gradients.
///
/// What is dropped derives from the stream of the examples along the first dimension
/// ([`rl755_nn::with_examples`]).
pub(crate) fn dropout<const D: usize>(x: Tensor<D>, rate: f64) -> Tensor<D> {
    match mask(x.dims(), rate, &x.device()) {
        Some(mask) => x * mask,
        None => x,
    }
}

/// What [`dropout`] multiplies by; `None` where nothing is dropped.
pub(crate) fn mask<const D: usize>(
    shape: [usize; D],
    rate: f64,
    device: &Device,
) -> Option<Tensor<D>> {
    if rate == 0.0 || !device.is_autodiff() {
        return None;
    }
    let values = dropout_mask(&Shape::from(shape), rate);
    Some(Tensor::from_data(TensorData::new(values, shape), device))
}

#[cfg(test)]
mod tests {
    use rl755_nn::{seeded, values};

    use super::*;

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
