//! Tensors to and from plain numbers.

use burn::tensor::{Device, Tensor, TensorData};
use ndarray::{Array, Dimension};

/// The numbers of `tensor`, row-major.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().convert::<f32>().try_into_vec().expect("converted to f32 just now")
}

/// `array` on `device`.
pub(crate) fn tensor<const D: usize, I: Dimension>(
    array: &Array<f32, I>,
    device: &Device,
) -> Tensor<D> {
    let shape = array.shape().to_vec();
    let values: Vec<f32> = array.iter().copied().collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}
