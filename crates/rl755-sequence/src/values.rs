//! Tensors to and from plain numbers.

use burn::tensor::{Device, Tensor, TensorData};
use ndarray::{Array, Dimension};

/// `array` on `device`.
pub(crate) fn tensor<const D: usize, I: Dimension>(
    array: &Array<f32, I>,
    device: &Device,
) -> Tensor<D> {
    let shape = array.shape().to_vec();
    let values: Vec<f32> = array.iter().copied().collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Normally distributed numbers.
#[cfg(test)]
pub(crate) fn random_array(shape: [usize; 3], seed: u64) -> ndarray::Array3<f32> {
    let mut random = rl755_run::Random::new(seed);
    ndarray::Array3::from_shape_simple_fn(shape, || random.normal() as f32)
}

/// Checks that no element differs by more than 1e-5, or 1e-5 of its size where that is above 1.
#[cfg(test)]
pub(crate) fn assert_close(
    found: ndarray::ArrayView2<'_, f32>,
    expected: ndarray::ArrayView2<'_, f32>,
) {
    assert_eq!(found.dim(), expected.dim());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= 1e-5 * expected.abs().max(1.0),
            "{found} for {expected}"
        );
    }
}
