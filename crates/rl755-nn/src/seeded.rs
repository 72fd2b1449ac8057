//! Work that depends on a seed and on nothing else.

use std::sync::{Mutex, PoisonError};

use burn::tensor::Device;

use crate::noise::with_rows;

/// burn's random stream belongs to the process, not to the device value.
static STREAM: Mutex<()> = Mutex::new(());

/// Runs `work` with the noise of `seed`: that of [`standard_normal`](crate::standard_normal) and its
/// like, in which every row is an example, and burn's own random stream. No other seeded work of
/// this process runs beside it.
pub fn seeded<T>(device: &Device, seed: u64, work: impl FnOnce() -> T) -> T {
    alone(|| {
        device.seed(seed);
        Device::flex().seed(seed);
        with_rows(seed, work)
    })
}

/// Runs `work` while no seeded work of this process runs: for what may draw, but whose draws do not
/// matter. Parameters are drawn when first looked at, even where loading replaces them.
pub(crate) fn alone<T>(work: impl FnOnce() -> T) -> T {
    let _alone = STREAM.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}
