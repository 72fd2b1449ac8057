//! Loops by the widest vectors that the processor has.

use pulp::{Arch, NullaryFnOnce};

/// Does `work`, whose loops are compiled for each kind of vectors, and so are those of functions that
/// are inlined. Results do not depend on the kind: sums stay in their order, and products are rounded
/// before they are added or not (`mul_add`) as the loops say.
///
/// `work` is a closure, which has to say `#[inline(always)]`, or compilers leave it as it is for any
/// processor where it is long; or a struct, whose loops can come out faster: those of mixtures and of
/// the way back through normalisations take a fifth to three quarters longer as closures.
#[inline(always)]
pub(crate) fn vectorized<W: NullaryFnOnce>(work: W) -> W::Output {
    Arch::new().dispatch(work)
}
