//! Random tensors that depend on a seed and on nothing else.

use std::sync::{Mutex, PoisonError};

use burn::tensor::Device;

/// burn's random stream belongs to the process, not to the device value.
static STREAM: Mutex<()> = Mutex::new(());

/// Runs `work` with the device's random stream begun at `seed`, and no other seeded work of this
/// process beside it.
pub fn seeded<T>(device: &Device, seed: u64, work: impl FnOnce() -> T) -> T {
    let _alone = STREAM.lock().unwrap_or_else(PoisonError::into_inner);
    device.seed(seed);
    work()
}
