//! What the targets share: an allocator that counts, and the check of one input.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use rl755_data::fuzzing::Target;

/// The system's allocator, which knows how much is held and the most that was held at once.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn take(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(held, Ordering::Relaxed);
}

// The trait is unsafe; every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Old and new are held at once where the block has to move.
        take(size);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Reads and compares `input` as `target` does, and panics where reading held more memory at once
/// than the target states.
pub fn check(target: &Target, input: &[u8]) {
    let allowed = target.bytes + target.bytes_per_byte * input.len();
    within(allowed, || (target.read)(input));
    (target.compare)(input);
}

/// Does `work`, and panics where it held more than `allowed` bytes at once.
pub fn within(allowed: usize, work: impl FnOnce()) {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    work();
    let most = MOST.load(Ordering::Relaxed) - before;
    assert!(most <= allowed, "{most} bytes at once, {allowed} allowed");
}
