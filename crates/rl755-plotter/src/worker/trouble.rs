//! What goes wrong in the code of environments and actors.

use std::{
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
};

use rl755_run::panic_message;

/// Anything; it is shown to people.
pub(super) type Trouble = Box<dyn Error + Send + Sync>;

/// Calls `code`; a panic in it is trouble. What it worked on is not to be used afterwards.
pub(super) fn catch<T>(code: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    catch_unwind(AssertUnwindSafe(code))
        .unwrap_or_else(|panic| Err(format!("panicked: {}", panic_message(&*panic)).into()))
}
