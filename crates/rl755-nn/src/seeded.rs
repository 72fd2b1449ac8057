//! Random tensors that depend on a seed and on nothing else.

use std::sync::{Mutex, PoisonError};

use burn::tensor::{Device, Distribution, Shape, Tensor};

/// burn's random stream belongs to the process, not to the device value.
static STREAM: Mutex<()> = Mutex::new(());

/// Runs `work` with the device's random stream begun at `seed`, and no other seeded work of this
/// process beside it.
pub fn seeded<T>(device: &Device, seed: u64, work: impl FnOnce() -> T) -> T {
    alone(|| {
        device.seed(seed);
        Device::flex().seed(seed);
        work()
    })
}

/// Runs `work` while no seeded work of this process runs: for what may draw, but whose draws do not
/// matter. Parameters are drawn when first looked at, even where loading replaces them.
pub(crate) fn alone<T>(work: impl FnOnce() -> T) -> T {
    let _alone = STREAM.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Standard normal numbers that are the same on every device, from the stream of [`seeded`].
///
/// Devices draw their own streams differently, so these are drawn on the CPU and copied.
pub fn standard_normal<const D: usize>(shape: impl Into<Shape>, device: &Device) -> Tensor<D> {
    let cpu = Device::flex();
    let numbers = Tensor::<D>::random(shape, Distribution::Normal(0.0, 1.0), &cpu);
    if *device == cpu {
        numbers.to_device(device)
    } else {
        Tensor::from_data(numbers.into_data(), device)
    }
}
