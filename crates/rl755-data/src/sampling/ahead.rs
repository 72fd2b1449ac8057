//! Items made ahead: each while the one before it is used.

use std::{fmt, sync::Arc, thread::JoinHandle};

/// Gives items by number, and makes the next one on a thread of its own meanwhile. What an item is
/// depends on its number alone, so that asking for them in another order only costs time.
///
/// ```
/// use rl755_data::Ahead;
/// let mut squares = Ahead::new(4, |number| number * number);
/// assert_eq!([0, 1, 2, 3].map(|number| squares.get(number)), [0, 1, 4, 9]);
/// ```
pub struct Ahead<T> {
    make: Arc<dyn Fn(u64) -> T + Send + Sync>,
    /// The item that is being made.
    next: Option<(u64, JoinHandle<T>)>,
    count: u64,
}

impl<T: Send + 'static> Ahead<T> {
    /// Items that `make` makes, of which the first `count` will be asked for.
    pub fn new(count: u64, make: impl Fn(u64) -> T + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make), next: None, count }
    }

    /// Item `number`, from 0. Begins to make the one after it, if that will be asked for.
    pub fn get(&mut self, number: u64) -> T {
        if self.next.as_ref().is_some_and(|(item, _)| *item != number) {
            self.forget();
        }
        let item = match self.next.take() {
            Some((_, thread)) => {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            None => (self.make)(number),
        };
        let next = number + 1;
        if next < self.count {
            let make = Arc::clone(&self.make);
            self.next = Some((next, std::thread::spawn(move || make(next))));
        }
        item
    }
}

impl<T> Ahead<T> {
    /// Waits for the item that is being made and that nobody will ask for.
    fn forget(&mut self) {
        if let Some((_, thread)) = self.next.take() {
            // It may have panicked; nobody would have seen its item.
            drop(thread.join());
        }
    }
}

impl<T> Drop for Ahead<T> {
    /// When this returns, nothing holds what items are made from: not the lock of a dataset either.
    fn drop(&mut self) {
        self.forget();
    }
}

impl<T> fmt::Debug for Ahead<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = self.next.as_ref().map(|(number, _)| number);
        f.debug_struct("Ahead").field("next", &next).field("count", &self.count).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_holds_what_items_are_made_from_once_it_is_dropped() {
        let source = Arc::new(());
        let held = Arc::clone(&source);
        let mut items = Ahead::new(9, move |number| {
            // Much longer than it takes to drop them, so that threads which run on are seen.
            (0..10_000).for_each(|_| std::thread::yield_now());
            (Arc::clone(&held), number)
        });
        assert_eq!(items.get(0).1, 0);
        assert_eq!(items.get(5).1, 5, "another than the next");
        drop(items);
        assert_eq!(Arc::strong_count(&source), 1);
    }
}
