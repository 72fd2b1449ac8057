//! What goes wrong in the code of environments and actors.

use std::{
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
};

use rl755_run::panic_message;

/// Anything; it is shown to people.
pub(super) type Trouble = Box<dyn Error + Send + Sync>;

/// Tells of troubles, but not of the same over and over.
pub(super) fn each_once(tell: impl Fn(&str)) -> impl FnMut(&str) {
    let mut told = String::new();
    move |trouble| {
        if told != trouble {
            trouble.clone_into(&mut told);
            tell(trouble);
        }
    }
}

/// Calls `code`; a panic in it is trouble. What it worked on is not to be used afterwards.
pub(super) fn catch<T>(code: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    catch_unwind(AssertUnwindSafe(code))
        .unwrap_or_else(|panic| Err(format!("panicked: {}", panic_message(&*panic)).into()))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn the_same_trouble_is_told_once_until_there_is_another() {
        let told = RefCell::new(Vec::new());
        let mut tell = each_once(|trouble| told.borrow_mut().push(trouble.to_owned()));
        ["a", "a", "b", "b", "a"].into_iter().for_each(&mut tell);
        drop(tell);
        assert_eq!(told.into_inner(), ["a", "b", "a"]);
    }
}
