//! What the targets share: an allocator that counts, and the check of one input.

#[path = "../../tests/support/memory.rs"]
mod memory;

use rl755_data::fuzzing::Target;

/// Reads and compares `input` as `target` does, and panics where reading held more memory at once
/// than the target states.
pub fn check(target: &Target, input: &[u8]) {
    let allowed = target.bytes + target.bytes_per_byte * input.len();
    within(allowed, || (target.read)(input));
    (target.compare)(input);
}

/// Does `work`, and panics where it held more than `allowed` bytes at once.
pub fn within(allowed: usize, work: impl FnOnce()) {
    let most = memory::most(work);
    assert!(most <= allowed, "{most} bytes at once, {allowed} allowed");
}
