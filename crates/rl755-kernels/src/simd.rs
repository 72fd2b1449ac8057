//! Loops by the widest vectors that the processor has.

use pulp::{Arch, NullaryFnOnce};

/// Does `work`, whose loops are compiled for each kind of vectors, and so are those of functions that
/// are inlined. Results do not depend on the kind: sums stay in their order, and products are rounded
/// before they are added or not (`mul_add`) as the loops say.
///
/// The closure has to say `#[inline(always)]`, or compilers may leave it as it is for any processor. It
/// is no `FnOnce` because compilers put another function before those, which they do not inline.
#[inline(always)]
pub(crate) fn vectorized<R>(work: impl FnMut() -> R) -> R {
    Arch::new().dispatch(Work(work))
}

struct Work<F>(F);

impl<R, F: FnMut() -> R> NullaryFnOnce for Work<F> {
    type Output = R;

    #[inline(always)]
    fn call(mut self) -> R {
        (self.0)()
    }
}
