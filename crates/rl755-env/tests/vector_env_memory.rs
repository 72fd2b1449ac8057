//! Steps take no memory: counted by the allocator, which is why this test has a program of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use rl755_env::{
    AutoresetMode, CartPole, Env, EnvRegistry, TimeLimit, VectorEnv,
    wrappers::{
        ClipReward, FrameStackObservation, GrayscaleObservation, RecordEpisodeStatistics,
        RepeatAction, ResizeObservation, ScaleReward,
    },
};

/// The system's allocator, counting.
struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[allow(unsafe_code, reason = "the trait is unsafe; every call goes to the system's as it came")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        TAKEN.fetch_add(1, Ordering::Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// How often memory was taken, by any thread, while `work` was done.
fn taken(work: impl FnOnce()) -> usize {
    let before = TAKEN.load(Ordering::SeqCst);
    work();
    TAKEN.load(Ordering::SeqCst) - before
}

type Make<'a> = &'a dyn Fn() -> Box<dyn Env>;

fn vector(make: Make<'_>, threads: u32, mode: AutoresetMode) -> VectorEnv {
    let count = 5;
    let envs = VectorEnv::new((0..count).map(|_| make()).collect(), threads as usize).unwrap();
    let mut envs = envs.with_autoreset_mode(mode);
    envs.reset_all(&[1, 2, 3, 4, 5]).unwrap();
    envs
}

/// Steps `envs` in bouts of `steps` and gives the fewest that a bout took; `turn` gives the action.
///
/// A thread takes memory once, when it first draws, and on a busy machine that may be late. So of
/// one bout more than there are `threads` one must do without.
fn taken_by_steps(
    envs: &mut VectorEnv,
    threads: u32,
    steps: u32,
    turn: fn(u32, &mut [f32]),
) -> usize {
    let width = envs.spec().action_space.width();
    let mut actions = vec![0.0; envs.len() * width];
    let active = vec![true; envs.len()];
    let mut step = |time| {
        actions.chunks_exact_mut(width).for_each(|action| turn(time, action));
        envs.step(&actions, &active).unwrap();
    };
    // Buffers that grow with use have their size after a while.
    (0..100).for_each(&mut step);
    let bout = |bout| 100 + bout * steps..100 + (bout + 1) * steps;
    (0..=threads).map(|number| taken(|| bout(number).for_each(&mut step))).min().unwrap()
}

// One test, so that no other one's memory is counted.
#[test]
fn steps_take_no_memory() {
    assert!(taken(|| drop(std::hint::black_box(vec![1]))) > 0, "the allocator counts");

    let cartpole = || -> Box<dyn Env> { Box::new(TimeLimit::new(CartPole::new(), 40)) };
    let sway = |time: u32, action: &mut [f32]| action[0] = (time % 2) as f32;
    // All live to the end: threads that go home take memory, too.
    let mut at_work = Vec::new();
    for mode in [AutoresetMode::Disabled, AutoresetMode::NextStep, AutoresetMode::SameStep] {
        for threads in [1, 2, 4] {
            let mut envs = vector(&cartpole, threads, mode);
            let taken = taken_by_steps(&mut envs, threads, 1000, sway);
            assert_eq!(taken, 0, "CartPole, {mode:?}, {threads} threads");
            at_work.push(envs);
        }
    }

    let registry = EnvRegistry::with_builtin();
    for id in registry.ids().iter().filter(|id| !id.starts_with("CarRacing")) {
        let made = || registry.make(id).unwrap();
        let mut envs = vector(&made, 1, AutoresetMode::SameStep);
        assert_eq!(taken_by_steps(&mut envs, 1, 1000, sway), 0, "{id}");
    }

    // CarRacing's reset makes a new road: no resets here.
    let car = || registry.make("CarRacing-v3").unwrap();
    let drive = |time: u32, action: &mut [f32]| {
        action.copy_from_slice(&[(time as f32 / 9.0).sin() / 4.0, 0.1, 0.0]);
    };
    let wrapped = || -> Box<dyn Env> {
        let env = RepeatAction::new(RecordEpisodeStatistics::new(car()), 2).unwrap();
        let env = GrayscaleObservation::new(ScaleReward::new(env, 0.1).unwrap()).unwrap();
        let env = ResizeObservation::new(env, [64, 64]).unwrap();
        let env = ClipReward::new(FrameStackObservation::new(env, 4).unwrap(), 0.0, 1.0).unwrap();
        Box::new(TimeLimit::new(env, 1000))
    };
    let makes: [(&str, Make<'_>); 2] = [("bare", &car), ("wrapped", &wrapped)];
    for (name, make) in makes {
        for threads in [1, 2] {
            let mut envs = vector(make, threads, AutoresetMode::NextStep);
            let taken = taken_by_steps(&mut envs, threads, 100, drive);
            assert!(envs.live().iter().all(|&live| live), "the test needs episodes of this length");
            assert_eq!(taken, 0, "CarRacing, {name}, {threads} threads");
            at_work.push(envs);
        }
    }
}
