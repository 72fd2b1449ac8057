//! A multilayer perceptron with its derivatives, forwards and backwards, written by hand: small
//! networks in 64 bits, for which a tensor library costs more than the arithmetic.

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, linalg::general_mat_mul};
use rl755_run::Random;

/// The last layer begins with weights this much smaller than the others', so that the first
/// actions hardly depend on what is seen.
const LAST_LAYER: f64 = 0.1;

/// The shape of a multilayer perceptron with tanh after each layer but the last.
///
/// Its parameters are one vector: layer by layer the weights `[input, output]`, row-major, then the
/// biases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mlp {
    /// Inputs, hidden units of each layer, outputs.
    widths: Vec<usize>,
}

/// Weights `[input, output]` and biases.
type Layer<'a> = (ArrayView2<'a, f64>, ArrayView1<'a, f64>);

impl Mlp {
    pub(crate) fn new(inputs: usize, hidden: &[usize], outputs: usize) -> Self {
        let widths = [&[inputs], hidden, &[outputs]].concat();
        Self { widths }
    }

    pub(crate) fn num_parameters(&self) -> usize {
        self.widths.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum()
    }

    /// All numbers that a row leads to: its inputs and what each layer gives.
    pub(crate) fn numbers_per_row(&self) -> usize {
        self.widths.iter().sum()
    }

    /// Uniform weights with the variance of Glorot and Bengio (2010), and no biases.
    pub(crate) fn initial(&self, random: &mut Random) -> Vec<f64> {
        let mut parameters = Vec::with_capacity(self.num_parameters());
        for (layer, pair) in self.widths.windows(2).enumerate() {
            let last = layer + 2 == self.widths.len();
            let scale = if last { LAST_LAYER } else { 1.0 };
            let limit = scale * (6.0 / (pair[0] + pair[1]) as f64).sqrt();
            parameters.extend((0..pair[0] * pair[1]).map(|_| random.uniform(-limit, limit)));
            parameters.extend((0..pair[1]).map(|_| 0.0));
        }
        parameters
    }

    fn layers<'a>(&self, mut parameters: &'a [f64]) -> Vec<Layer<'a>> {
        let layer = |pair: &[usize]| {
            let (weights, rest) = parameters.split_at(pair[0] * pair[1]);
            let (biases, rest) = rest.split_at(pair[1]);
            parameters = rest;
            (matrix(weights, (pair[0], pair[1])), ArrayView1::from(biases))
        };
        self.widths.windows(2).map(layer).collect()
    }

    /// What each layer gives for `inputs` `[row, input]`; the outputs come last.
    pub(crate) fn forward(
        &self,
        parameters: &[f64],
        inputs: ArrayView2<'_, f64>,
    ) -> Vec<Array2<f64>> {
        let layers = self.layers(parameters);
        let mut values: Vec<Array2<f64>> = Vec::with_capacity(layers.len());
        for (index, (weights, biases)) in layers.iter().enumerate() {
            let before = values.last().map_or(inputs, |values| values.view());
            let mut given = before.dot(weights) + biases;
            if index + 1 < layers.len() {
                given.mapv_inplace(f64::tanh);
            }
            values.push(given);
        }
        values
    }

    /// The outputs for a single row, in `values`, which is working memory, too.
    pub(crate) fn forward_row<'v>(
        &self,
        mut parameters: &[f64],
        inputs: &[f64],
        values: &'v mut Vec<f64>,
    ) -> &'v [f64] {
        values.clear();
        values.extend_from_slice(inputs);
        for (index, pair) in self.widths.windows(2).enumerate() {
            let (weights, rest) = parameters.split_at(pair[0] * pair[1]);
            let (biases, rest) = rest.split_at(pair[1]);
            parameters = rest;
            let begin = values.len();
            values.extend_from_slice(biases);
            let (before, given) = values.split_at_mut(begin);
            let before = &before[begin - pair[0]..];
            for (value, row) in before.iter().zip(weights.chunks_exact(pair[1])) {
                given.iter_mut().zip(row).for_each(|(sum, weight)| *sum += value * weight);
            }
            if index + 2 < self.widths.len() {
                given.iter_mut().for_each(|value| *value = value.tanh());
            }
        }
        &values[values.len() - self.widths[self.widths.len() - 1]..]
    }

    /// Adds to `sum` the gradient with respect to the parameters of Σ `cotangents` · outputs, where
    /// `values` are what [`forward`](Self::forward) gave for `inputs`. (J^T u, backwards.)
    pub(crate) fn add_gradient(
        &self,
        parameters: &[f64],
        inputs: ArrayView2<'_, f64>,
        values: &[Array2<f64>],
        cotangents: Array2<f64>,
        sum: &mut [f64],
    ) {
        let layers = self.layers(parameters);
        let mut cotangents = cotangents;
        let mut end = self.num_parameters();
        for (index, (weights, _)) in layers.iter().enumerate().rev() {
            let before = if index == 0 { inputs } else { values[index - 1].view() };
            let (rows, columns) = weights.dim();
            let biases = end - columns;
            let begin = biases - rows * columns;
            let mut weight_sum = matrix_mut(&mut sum[begin..biases], (rows, columns));
            general_mat_mul(1.0, &before.t(), &cotangents, 1.0, &mut weight_sum);
            let bias_gradient = cotangents.sum_axis(Axis(0));
            sum[biases..end].iter_mut().zip(&bias_gradient).for_each(|(sum, own)| *sum += own);
            if index > 0 {
                cotangents = cotangents.dot(&weights.t());
                cotangents.zip_mut_with(&before, |value, tanh| *value *= 1.0 - tanh * tanh);
            }
            end = begin;
        }
    }

    /// How the outputs change along `direction` in the space of parameters. (J v, forwards.)
    pub(crate) fn tangents(
        &self,
        parameters: &[f64],
        inputs: ArrayView2<'_, f64>,
        values: &[Array2<f64>],
        direction: &[f64],
    ) -> Array2<f64> {
        let layers = self.layers(parameters);
        let mut tangents: Option<Array2<f64>> = None;
        for (index, (weights, biases)) in self.layers(direction).iter().enumerate() {
            let before = if index == 0 { inputs } else { values[index - 1].view() };
            let mut given = before.dot(weights) + biases;
            if let Some(tangents) = tangents {
                general_mat_mul(1.0, &tangents, &layers[index].0, 1.0, &mut given);
            }
            if index + 1 < layers.len() {
                given.zip_mut_with(&values[index], |value, tanh| *value *= 1.0 - tanh * tanh);
            }
            tangents = Some(given);
        }
        tangents.unwrap_or_default()
    }
}

fn matrix(values: &[f64], shape: (usize, usize)) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape(shape, values).expect("the parameters of a layer")
}

fn matrix_mut(values: &mut [f64], shape: (usize, usize)) -> ArrayViewMut2<'_, f64> {
    ArrayViewMut2::from_shape(shape, values).expect("the parameters of a layer")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(random: &mut Random, count: usize) -> Vec<f64> {
        (0..count).map(|_| random.normal()).collect()
    }

    #[test]
    fn both_derivatives_are_those_of_finite_differences() {
        let mlp = Mlp::new(3, &[5, 4], 2);
        let mut random = Random::new(1);
        let parameters = normal(&mut random, mlp.num_parameters());
        let inputs = Array2::from_shape_vec((7, 3), normal(&mut random, 21)).unwrap();
        let cotangents = Array2::from_shape_vec((7, 2), normal(&mut random, 14)).unwrap();
        let direction = normal(&mut random, mlp.num_parameters());
        let values = mlp.forward(&parameters, inputs.view());

        let outputs = |parameters: &[f64]| mlp.forward(parameters, inputs.view()).pop().unwrap();
        let moved = |step: f64| {
            let moved = parameters.iter().zip(&direction).map(|(p, d)| p + step * d);
            outputs(&moved.collect::<Vec<_>>())
        };
        let tangents = mlp.tangents(&parameters, inputs.view(), &values, &direction);
        let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
        assert!((&tangents - &expected).iter().all(|error| error.abs() < 1e-7));

        let mut gradient = vec![0.0; mlp.num_parameters()];
        mlp.add_gradient(&parameters, inputs.view(), &values, cotangents.clone(), &mut gradient);
        for index in 0..parameters.len() {
            let at = |step: f64| {
                let mut parameters = parameters.clone();
                parameters[index] += step;
                (outputs(&parameters) * &cotangents).sum()
            };
            let expected = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((gradient[index] - expected).abs() < 1e-7, "parameter {index}");
        }
    }

    #[test]
    fn a_single_row_gives_what_a_batch_gives() {
        let mlp = Mlp::new(3, &[5, 4], 2);
        let mut random = Random::new(2);
        let parameters = mlp.initial(&mut random);
        let inputs = Array2::from_shape_vec((4, 3), normal(&mut random, 12)).unwrap();
        let outputs = mlp.forward(&parameters, inputs.view()).pop().unwrap();
        let mut memory = Vec::new();
        for (row, expected) in inputs.rows().into_iter().zip(outputs.rows()) {
            let found = mlp.forward_row(&parameters, row.as_slice().unwrap(), &mut memory);
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14));
        }
    }
}
