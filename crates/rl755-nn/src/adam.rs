//! Adam (Kingma & Ba 2015), over all parameters at once.

use std::collections::BTreeMap;

use burn::{
    module::{Module, Param},
    tensor::{Tensor, TensorData},
};
use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use crate::{
    gradients::{Gradients, MapParameter, map_parameters},
    numbers::{Numbers, PART, slice, slice_mut},
};

/// The optimiser's constants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants {
    pub(crate) beta_1: f64,
    pub(crate) beta_2: f64,
    pub(crate) epsilon: f64,
}

/// What Adam remembers of a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    /// Steps that the parameter has taken.
    pub(crate) steps: u64,
    /// The parameter's shape.
    pub(crate) shape: Vec<usize>,
    /// The decaying mean of its gradients.
    pub(crate) mean: Numbers,
    /// The decaying mean of their squares.
    pub(crate) square: Numbers,
}

/// The optimiser and its state, by the paths of parameters. Those without a gradient stay as they
/// are and have no state.
#[derive(Clone, Debug)]
pub(crate) struct Adam {
    constants: Constants,
    pub(crate) moments: BTreeMap<String, Moments>,
}

impl Adam {
    pub(crate) fn new(constants: Constants) -> Self {
        Self { constants, moments: BTreeMap::new() }
    }

    /// Moves the parameters of `model` against `gradients` times `scale`.
    ///
    /// The results do not depend on the number of threads.
    pub(crate) fn step<M: Module>(
        &mut self,
        model: M,
        gradients: Gradients,
        scale: f64,
        learning_rate: f64,
    ) -> M {
        let gradients = gradients.0.into_iter().collect();
        map_parameters(model, Update { adam: self, gradients, scale, learning_rate })
    }

    fn update<const D: usize>(
        &mut self,
        path: String,
        value: Tensor<D>,
        gradient: Numbers,
        scale: f64,
        learning_rate: f64,
    ) -> Tensor<D> {
        let shape = value.dims();
        let constants = self.constants;
        let moments = self.moments.entry(path).or_insert_with(|| Moments {
            steps: 0,
            shape: shape.to_vec(),
            mean: gradient.zeros_like(),
            square: gradient.zeros_like(),
        });
        moments.steps += 1;
        let step = Step::new(constants, moments.steps, scale, learning_rate);
        let mut value = Numbers::of(value);
        match (&mut value, &gradient, &mut moments.mean, &mut moments.square) {
            (
                Numbers::Host(value),
                Numbers::Host(gradient),
                Numbers::Host(mean),
                Numbers::Host(square),
            ) => step.on_slices(value, gradient, mean, square),
            (
                Numbers::Device(value),
                Numbers::Device(gradient),
                Numbers::Device(mean),
                Numbers::Device(square),
            ) => step.on_tensors(value, gradient, mean, square),
            _ => unreachable!("numbers of one parameter are in one place"),
        }
        value.into_tensor(shape)
    }
}

struct Update<'a> {
    adam: &'a mut Adam,
    gradients: BTreeMap<String, Numbers>,
    scale: f64,
    learning_rate: f64,
}

impl MapParameter for Update<'_> {
    fn parameter<const D: usize>(
        &mut self,
        path: String,
        parameter: Param<Tensor<D>>,
    ) -> Param<Tensor<D>> {
        let Some(gradient) = self.gradients.remove(&path) else { return parameter };
        let (id, value, mapper) = parameter.consume();
        let value = self.adam.update(path, value, gradient, self.scale, self.learning_rate);
        Param::from_mapped_value(id, Tensor::from_inner(value).require_grad(), mapper)
    }
}

/// The numbers of one step of one parameter, as PyTorch's Adam has them.
#[derive(Clone, Copy)]
struct Step {
    scale: f32,
    /// 1 - β₁ and 1 - β₂.
    keep: [f32; 2],
    beta_2: f32,
    /// The learning rate with the correction of the mean, which begins at 0.
    size: f32,
    /// The correction of the squares' root.
    correction: f32,
    epsilon: f32,
}

impl Step {
    fn new(constants: Constants, steps: u64, scale: f64, learning_rate: f64) -> Self {
        let Constants { beta_1, beta_2, epsilon } = constants;
        // Where it no longer fits, the power is 0.
        let steps = i32::try_from(steps).unwrap_or(i32::MAX);
        Self {
            scale: scale as f32,
            keep: [(1.0 - beta_1) as f32, (1.0 - beta_2) as f32],
            beta_2: beta_2 as f32,
            size: (learning_rate / (1.0 - beta_1.powi(steps))) as f32,
            correction: (1.0 / (1.0 - beta_2.powi(steps)).sqrt()) as f32,
            epsilon: epsilon as f32,
        }
    }

    fn on_slices(
        self,
        value: &mut TensorData,
        gradient: &TensorData,
        mean: &mut TensorData,
        square: &mut TensorData,
    ) {
        let parts = slice_mut(value)
            .par_chunks_mut(PART)
            .zip(slice(gradient).par_chunks(PART))
            .zip(slice_mut(mean).par_chunks_mut(PART))
            .zip(slice_mut(square).par_chunks_mut(PART));
        parts.for_each(|(((value, gradient), mean), square)| {
            Arch::new().dispatch(Part { step: self, value, gradient, mean, square });
        });
    }

    fn on_tensors(
        self,
        value: &mut Tensor<1>,
        gradient: &Tensor<1>,
        mean: &mut Tensor<1>,
        square: &mut Tensor<1>,
    ) {
        let gradient = gradient.clone() * self.scale;
        *mean = mean.clone() + (gradient.clone() - mean.clone()) * self.keep[0];
        *square = square.clone() * self.beta_2 + gradient.square() * self.keep[1];
        let root = square.clone().sqrt() * self.correction + self.epsilon;
        *value = value.clone() - mean.clone() / root * self.size;
    }
}

/// A part of a parameter, compiled for each set of vector instructions. No multiplication is fused
/// with an addition, so that all of them give the same bits.
struct Part<'a> {
    step: Step,
    value: &'a mut [f32],
    gradient: &'a [f32],
    mean: &'a mut [f32],
    square: &'a mut [f32],
}

impl NullaryFnOnce for Part<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { step, value, gradient, mean, square } = self;
        let numbers = value.iter_mut().zip(gradient).zip(mean).zip(square);
        for (((value, gradient), mean), square) in numbers {
            let gradient = gradient * step.scale;
            *mean += (gradient - *mean) * step.keep[0];
            *square = *square * step.beta_2 + gradient * gradient * step.keep[1];
            *value -= *mean / (square.sqrt() * step.correction + step.epsilon) * step.size;
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn steps_on_tensors_are_those_on_slices() {
        let numbers = |seed: u64, scale: f32| -> Vec<f32> {
            let mut random = rl755_run::Random::new(seed);
            (0..1000).map(|_| scale * random.normal() as f32).collect()
        };
        let data = |values: Vec<f32>| TensorData::new(values, [1000]);
        let tensor = |values| Tensor::<1>::from_data(data(values), &Device::flex());
        let zeros = || vec![0.0f32; 1000];
        let constants = Constants { beta_1: 0.9, beta_2: 0.98, epsilon: 1e-8 };
        let mut slices = [data(numbers(1, 1.0)), data(zeros()), data(zeros())];
        let mut tensors = [tensor(numbers(1, 1.0)), tensor(zeros()), tensor(zeros())];
        for step in 1..=20 {
            let gradient = numbers(step + 1, 3.0);
            let step = Step::new(constants, step, 0.5, 0.01);
            let [value, mean, square] = &mut slices;
            step.on_slices(value, &data(gradient.clone()), mean, square);
            let [value, mean, square] = &mut tensors;
            step.on_tensors(value, &tensor(gradient), mean, square);
        }
        for (slices, tensors) in slices.iter().zip(tensors) {
            let tensors = tensors.into_data();
            for (found, expected) in slice(&tensors).iter().zip(slice(slices)) {
                assert!((found - expected).abs() <= 1e-5 * expected.abs().max(0.1));
            }
        }
    }
}
