//! Looking for the first number that is not finite, where it comes up.

use std::cell::RefCell;

use burn::tensor::Tensor;

thread_local! {
    /// The first bad tensor's name, while somebody looks.
    static FOUND: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
}

/// Lets `--check-numerics` look at an intermediate result: the output of a layer, a batch. Costs
/// nothing unless it was asked for; then a training stops at the first tensor that holds a NaN or
/// an infinity, and names it.
pub fn watch<const D: usize>(name: &str, tensor: &Tensor<D>) {
    FOUND.with_borrow_mut(|found| {
        if let Some(first @ None) = found
            && !is_finite(tensor)
        {
            *first = Some(name.to_owned());
        }
    });
}

/// Runs `work` and returns the name of the first bad tensor that was [`watch`]ed in it, if `look`.
pub(crate) fn watched<T>(look: bool, work: impl FnOnce() -> T) -> (T, Option<String>) {
    let before = FOUND.replace(look.then_some(None));
    let result = work();
    (result, FOUND.replace(before).flatten())
}

/// Whether every number of `tensor` is one.
pub(crate) fn is_finite<const D: usize>(tensor: &Tensor<D>) -> bool {
    // 0 where finite, else NaN; far fewer operations than comparing.
    let tensor = tensor.clone().inner();
    let sum = (tensor.clone() - tensor).sum().into_scalar::<f32>();
    !sum.is_nan()
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn the_first_bad_tensor_is_found_when_somebody_looks() {
        let tensor = |value: f32| Tensor::<1>::full([3], value, &Device::flex());
        let work = || {
            watch("large", &tensor(f32::MAX));
            watch("infinite", &tensor(f32::INFINITY));
            watch("nan", &tensor(f32::NAN));
        };
        assert_eq!(watched(true, work).1.as_deref(), Some("infinite"));
        assert_eq!(watched(false, work).1, None);
    }
}
