//! A moving average of the weights, which is often better than the weights of the last step
//! (Polyak & Juditsky 1992).

use std::collections::BTreeMap;

use burn::{
    module::{Module, Param},
    tensor::Tensor,
};

use crate::{
    gradients::{MapParameter, VisitParameter, map_parameters, visit_parameters},
    numbers::Numbers,
};

/// The average of each parameter, by its path.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    decay: f64,
    numbers: BTreeMap<String, Numbers>,
}

impl Average {
    /// Begins at the weights of `model`.
    pub(crate) fn new<M: Module>(decay: f64, model: &M) -> Self {
        let numbers = visit_parameters(model, Take(BTreeMap::new())).0;
        Self { decay, numbers }
    }

    /// Takes in the weights after `step`. Early averages forget faster, so that the first weights do
    /// not linger: `min(decay, (1 + step) / (10 + step))`, as in TensorFlow's
    /// `ExponentialMovingAverage`.
    pub(crate) fn update<M: Module>(&mut self, model: &M, step: u64) {
        let decay = self.decay.min((1.0 + step as f64) / (10.0 + step as f64));
        visit_parameters(model, Approach { numbers: &mut self.numbers, share: 1.0 - decay });
    }

    /// `model` with these weights, without gradients.
    pub(crate) fn apply<M: Module>(&self, model: &M) -> M {
        map_parameters(model.valid(), Put(&self.numbers))
    }
}

struct Take(BTreeMap<String, Numbers>);

impl VisitParameter for Take {
    fn parameter<const D: usize>(&mut self, path: &str, parameter: &Param<Tensor<D>>) {
        self.0.insert(path.to_owned(), Numbers::of(parameter.val()));
    }
}

struct Approach<'a> {
    numbers: &'a mut BTreeMap<String, Numbers>,
    share: f64,
}

impl VisitParameter for Approach<'_> {
    fn parameter<const D: usize>(&mut self, path: &str, parameter: &Param<Tensor<D>>) {
        if let Some(numbers) = self.numbers.get_mut(path) {
            numbers.approach(&Numbers::of(parameter.val()), self.share);
        }
    }
}

struct Put<'a>(&'a BTreeMap<String, Numbers>);

impl MapParameter for Put<'_> {
    fn parameter<const D: usize>(
        &mut self,
        path: String,
        parameter: Param<Tensor<D>>,
    ) -> Param<Tensor<D>> {
        let Some(numbers) = self.0.get(&path) else { return parameter };
        let (id, value, mapper) = parameter.consume();
        Param::from_mapped_value(id, numbers.clone().into_tensor(value.dims()), mapper)
    }
}
