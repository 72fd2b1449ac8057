//! In which order sampling visits rollouts: a new permutation for every epoch, computed from the
//! seed and the epoch alone, so that any step can be sampled without the ones before it.

use std::sync::{Arc, Mutex};

use rl755_run::Random;

/// A permutation of `0..count`.
pub(crate) fn permutation(count: usize, random: &mut Random) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    // Fisher and Yates 1938.
    for i in (1..count).rev() {
        order.swap(i, random.below(i + 1));
    }
    order
}

/// Visits `count` items forever, each once per epoch.
#[derive(Debug)]
pub(crate) struct VisitOrder {
    count: usize,
    seed: u64,
    label: &'static str,
    /// The permutation that was used last, and its epoch.
    last: Mutex<Option<(u64, Arc<Vec<u32>>)>>,
}

impl VisitOrder {
    /// # Panics
    /// When `count` is 0.
    pub(crate) fn new(count: usize, seed: u64, label: &'static str) -> Self {
        assert!(count > 0, "nothing to visit");
        Self { count, seed, label, last: Mutex::new(None) }
    }

    /// The item of visit `visit`, counted over all epochs.
    pub(crate) fn item(&self, visit: u64) -> usize {
        let count = self.count as u64;
        self.epoch(visit / count)[(visit % count) as usize] as usize
    }

    fn epoch(&self, epoch: u64) -> Arc<Vec<u32>> {
        // The value is replaced whole, so it is sound even if another thread panicked.
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((known, order)) = &*last
            && *known == epoch
        {
            return Arc::clone(order);
        }
        let mut random = Random::derived(self.seed, self.label, epoch);
        let order = Arc::new(permutation(self.count, &mut random));
        *last = Some((epoch, Arc::clone(&order)));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_epoch_visits_everything_once_in_another_order() {
        let order = VisitOrder::new(10, 1, "test");
        let epoch = |e: u64| (0..10).map(|i| order.item(e * 10 + i)).collect::<Vec<_>>();
        let (first, second) = (epoch(0), epoch(1));
        assert_ne!(first, second);
        for mut visited in [first.clone(), second] {
            visited.sort_unstable();
            assert_eq!(visited, (0..10).collect::<Vec<_>>());
        }
        assert_eq!(epoch(0), first);
    }
}
