//! Threads that work on a batch whenever it is handed to them.
//!
//! `ThreadPool::install` would do the same, but its queue of jobs takes memory anew every 63 calls.
//! Here one thread of the pool waits for the batch from its start, and shares the work out with
//! `join`, whose queues are made once.

use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard},
};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::batch::{Batch, Call, Workers};

/// Why no lock is ever poisoned.
const NO_PANIC: &str = "nothing panics while the desk is locked";

/// A pool of threads and the desk where its foreman takes orders.
pub(super) struct Crew {
    desk: Arc<Desk>,
    /// Dropped after the foreman was sent home.
    _pool: ThreadPool,
}

/// Where a batch changes hands.
#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    /// Nothing to do.
    #[default]
    Empty,
    /// The caller's order.
    Ordered(Batch, Call),
    /// The foreman's return, with what an environment panicked with.
    Done(Batch, Result<(), Box<dyn Any + Send>>),
    /// The foreman may go.
    Closed,
}

impl Crew {
    /// Starts `threads` threads.
    pub(super) fn new(threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("env-{index}"))
            .build()?;
        // Threads take some memory when they first work. Let that be now.
        pool.broadcast(|_| ());
        let desk = Arc::new(Desk::default());
        let foreman = Arc::clone(&desk);
        pool.spawn(move || foreman.serve());
        Ok(Self { desk, _pool: pool })
    }

    /// Does what `call` says with each environment of `batch`, in the crew's threads.
    ///
    /// # Panics
    /// As an environment does, after `batch` is back.
    pub(super) fn run(&self, batch: &mut Batch, call: Call) {
        self.desk.put(State::Ordered(mem::take(batch), call));
        match self.desk.take(|state| matches!(state, State::Done(..))) {
            State::Done(returned, outcome) => {
                *batch = returned;
                outcome.unwrap_or_else(|panic| resume_unwind(panic));
            }
            _ => unreachable!("it waited for the foreman's return"),
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.desk.put(State::Closed);
    }
}

impl Desk {
    /// What the foreman does.
    fn serve(&self) {
        while let State::Ordered(mut batch, call) =
            self.take(|state| matches!(state, State::Ordered(..) | State::Closed))
        {
            // Each environment is as the panic left it, which its owner gets to know.
            let work = AssertUnwindSafe(|| batch.run(call, Workers::Pool));
            let outcome = catch_unwind(work);
            self.put(State::Done(batch, outcome));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(NO_PANIC)
    }

    fn put(&self, state: State) {
        *self.lock() = state;
        self.changed.notify_all();
    }

    /// Waits for a state that is `wanted`, and empties the desk.
    fn take(&self, wanted: fn(&State) -> bool) -> State {
        let state = self.changed.wait_while(self.lock(), |state| !wanted(state));
        mem::take(&mut *state.expect(NO_PANIC))
    }
}
