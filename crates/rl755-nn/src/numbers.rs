//! A parameter's worth of numbers, kept where they are worked with.

use burn::tensor::{DType, Device, Tensor, TensorData};
use rayon::prelude::*;

/// Numbers that a thread works on at a time. Sums are taken within these parts and then over them,
/// so that they do not depend on the number of threads.
pub(crate) const PART: usize = 1 << 14;

/// Numbers shaped like a parameter: plain slices on `flex`, tensors elsewhere.
#[allow(
    clippy::large_enum_variant,
    reason = "tensors are large with the feature cuda; there are two of these for a parameter"
)]
#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    /// In memory.
    Host(TensorData),
    /// On another device, without its shape.
    Device(Tensor<1>),
}

impl Numbers {
    /// Those of `tensor`, without its graph, in 32 bits.
    pub(crate) fn of<const D: usize>(tensor: Tensor<D>) -> Self {
        let tensor = tensor.inner();
        if tensor.device() == Device::flex() {
            return Self::Host(tensor.into_data_as::<f32>());
        }
        Self::Device(tensor.cast(DType::F32).reshape([-1]))
    }

    /// As many zeros, in the same place.
    pub(crate) fn zeros_like(&self) -> Self {
        match self {
            Self::Host(data) => Self::Host(TensorData::zeros::<f32, _>(data.shape().clone())),
            Self::Device(tensor) => Self::Device(tensor.zeros_like()),
        }
    }

    /// As a tensor of that shape, without gradients, on the device that they are on.
    pub(crate) fn into_tensor<const D: usize>(self, shape: [usize; D]) -> Tensor<D> {
        match self {
            Self::Host(data) => Tensor::from_data(data, (&Device::flex(), DType::F32)),
            Self::Device(tensor) => tensor.reshape(shape),
        }
    }

    /// In memory, row-major.
    pub(crate) fn values(&self) -> Vec<f32> {
        match self {
            Self::Host(data) => slice(data).to_vec(),
            Self::Device(tensor) => values(tensor.clone()),
        }
    }

    /// Brings them to `device`.
    pub(crate) fn moved_to(self, device: &Device) -> Self {
        let flex = *device == Device::flex();
        match self {
            Self::Host(data) if flex => Self::Host(data),
            Self::Host(data) => {
                let count = data.num_elements();
                let (bytes, _, dtype) = data.into_parts();
                let data = TensorData::from_bytes(bytes, [count], dtype);
                Self::Device(Tensor::from_data(data, (device, DType::F32)))
            }
            Self::Device(tensor) if flex => Self::Host(tensor.into_data_as::<f32>()),
            Self::Device(tensor) => Self::Device(tensor.to_device(device)),
        }
    }

    /// The sum of the squares.
    pub(crate) fn sum_of_squares(&self) -> f64 {
        match self {
            Self::Host(data) => {
                let parts = slice(data).par_chunks(PART).map(sum_of_squares);
                parts.collect::<Vec<_>>().into_iter().sum()
            }
            Self::Device(tensor) => f64::from(tensor.clone().square().sum().into_scalar::<f32>()),
        }
    }

    /// Adds `other`, which is in the same place.
    pub(crate) fn add(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Host(to), Self::Host(from)) => {
                let to = slice_mut(to).par_chunks_mut(PART);
                to.zip(slice(&from).par_chunks(PART)).for_each(|(to, from)| {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
                });
            }
            (Self::Device(to), Self::Device(from)) => *to = to.clone() + from,
            _ => unreachable!("numbers of one parameter are in one place"),
        }
    }

    /// Goes the share `share` of the way to `target`, which is in the same place.
    pub(crate) fn approach(&mut self, target: &Self, share: f64) {
        match (&mut *self, target) {
            (Self::Host(to), Self::Host(from)) => {
                let share = share as f32;
                let to = slice_mut(to).par_chunks_mut(PART);
                to.zip(slice(from).par_chunks(PART)).for_each(|(to, from)| {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += share * (from - *to));
                });
            }
            (Self::Device(to), Self::Device(from)) => {
                *to = to.clone() + (from.clone() - to.clone()) * share;
            }
            _ => unreachable!("numbers of one parameter are in one place"),
        }
    }
}

/// The numbers of `tensor` in 32 bits, row-major.
pub fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data_as::<f32>().try_into_vec().expect("numbers of 32 bits")
}

pub(crate) fn slice(data: &TensorData) -> &[f32] {
    data.as_slice().expect("numbers of 32 bits")
}

pub(crate) fn slice_mut(data: &mut TensorData) -> &mut [f32] {
    data.as_mut_slice().expect("numbers of 32 bits")
}

/// In 16 sums side by side, each of few enough numbers for 32 bits to be good.
fn sum_of_squares(values: &[f32]) -> f64 {
    let mut total = 0.0;
    for block in values.chunks(1024) {
        let mut sums = [0.0f32; 16];
        let (whole, rest) = block.as_chunks::<16>();
        for values in whole {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * value);
        }
        let rest: f32 = rest.iter().map(|value| value * value).sum();
        total += sums.iter().map(|sum| f64::from(*sum)).sum::<f64>() + f64::from(rest);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_on_another_device_is_what_is_done_in_memory() {
        let both = |factor: f32| {
            let values: Vec<f32> = (0..3000).map(|i| factor * (i as f32 * 0.7).sin()).collect();
            let data = TensorData::new(values, [30, 100]);
            let tensor = Tensor::<2>::from_data(data.clone(), &Device::flex()).reshape([-1]);
            [Numbers::Host(data), Numbers::Device(tensor)]
        };
        let close = |found: &[f32], expected: &[f32]| {
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0));
            }
        };
        let changed = both(1.5).into_iter().zip(both(-2.0)).map(|(mut numbers, other)| {
            let mut squares = vec![numbers.sum_of_squares() as f32];
            numbers.approach(&other, 0.25);
            squares.push(numbers.sum_of_squares() as f32);
            numbers.add(other);
            (squares, numbers.values(), numbers)
        });
        let [here, there] = changed.collect::<Vec<_>>().try_into().expect("there are two");
        close(&there.1, &here.1);
        // 1.5 + 0.25 · (-2 - 1.5) - 2
        close(&there.1[1..2], &[(1.5 - 0.875 - 2.0) * 0.7f32.sin()]);
        for (there, here) in there.0.iter().zip(here.0) {
            assert!((there - here).abs() < 1e-5 * here);
        }
        let shape = [30, 100];
        let rows = there.2.clone().into_tensor(shape).into_data();
        assert_eq!(rows.shape().dims(), shape);
        let zeros = there.2.zeros_like();
        assert!(matches!(zeros, Numbers::Device(_)) && zeros.values() == [0.0; 3000]);
        let moved = there.2.moved_to(&Device::flex());
        assert!(matches!(moved, Numbers::Host(_)));
        close(&moved.values(), &here.1);
    }
}
