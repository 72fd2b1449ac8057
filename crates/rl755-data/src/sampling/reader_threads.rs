//! What the samplers' reader threads share: the work, and the memory they may fill.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use crate::DatasetError;

/// Does `job` for each of `0..count` on `threads` threads, one of them the caller's, each with a
/// buffer of its own, and gives what they gave, in order.
///
/// Threads of their own and not a pool's: a pool's thread that waits for others may take up another
/// call meanwhile, which would hold memory of its own.
///
/// # Errors
/// As `job`; with several errors, that of the first job. After one, or when `stop` is set, jobs
/// that have not begun are left.
pub(crate) fn read_all<T: Send>(
    threads: usize,
    count: usize,
    stop: &AtomicBool,
    job: impl Fn(usize, &mut Vec<u8>) -> Result<T, DatasetError> + Sync,
) -> Result<Vec<T>, DatasetError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut buffer, mut done) = (Vec::new(), Vec::new());
        while !stop.load(Ordering::SeqCst) {
            let index = next.fetch_add(1, Ordering::SeqCst);
            if index >= count {
                break;
            }
            let result = job(index, &mut buffer);
            if result.is_err() {
                stop.store(true, Ordering::SeqCst);
            }
            done.push((index, result));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Bytes that may be held in memory. Clones share them.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    left: Arc<AtomicU64>,
}

impl MemoryBudget {
    /// A budget of `bytes`.
    pub fn new(bytes: u64) -> Self {
        Self { left: Arc::new(AtomicU64::new(bytes)) }
    }

    /// Takes `bytes` from what is left, or nothing where less is left; says whether it took them.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        let take = |left: u64| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
    }

    /// Gives back `bytes` that were taken.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_from_any_number_of_threads() {
        for threads in [1, 3, 100] {
            let stop = AtomicBool::new(false);
            let squares = read_all(threads, 20, &stop, |i, _| Ok(i * i)).unwrap();
            assert_eq!(squares, (0..20).map(|i| i * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_error_is_told_and_ends_the_work() {
        let stop = AtomicBool::new(false);
        let fail = |i: usize| DatasetError::NotADataset { path: i.to_string().into() };
        let error = read_all(1, 20, &stop, |i, _| if i < 7 { Ok(i) } else { Err(fail(i)) });
        assert!(error.unwrap_err().to_string().starts_with("7 is no dataset"));
        assert!(read_all(2, 5, &stop, |i, _| Ok(i)).unwrap().is_empty(), "it was stopped");
    }

    #[test]
    fn a_budget_is_never_overdrawn() {
        let budget = MemoryBudget::new(10);
        let clone = budget.clone();
        assert!(budget.take(7) && !clone.take(4) && clone.take(3) && !budget.take(1));
        clone.give_back(3);
        assert!(budget.take(2));
    }
}
