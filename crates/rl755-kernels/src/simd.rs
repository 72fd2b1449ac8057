//! Loops by the widest vectors that the processor has.

/// Does `work`, whose loops are compiled for each kind of vectors. Functions that it calls are only
/// when they are inlined. Results do not depend on the kind: sums stay in their order, and products
/// are rounded before they are added or not (`mul_add`) as the loops say.
#[inline(always)]
pub(crate) fn vectorized<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}
