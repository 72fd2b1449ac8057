//! What kernels are tested against: the definition in 64-bit loops, and burn's own operations.

use std::array::from_fn;

use burn::tensor::{Device, Tensor, TensorData};

use crate::{Operation, View, testing::random};

/// Checks the values of `operation` on random inputs of `shapes`, and the gradients of all inputs,
/// against those of `exact`, to 1e-4 of each number and of their root mean square.
///
/// The gradients of `exact` are central differences.
pub(crate) fn check<const N: usize, O: Operation<N>>(
    operation: O,
    shapes: [&[usize]; N],
    exact: impl Fn([&[f64]; N]) -> Vec<f64>,
) {
    let inputs: [Vec<f32>; N] = from_fn(|i| {
        random(shapes[i].iter().product(), i as u64 + 1).iter().map(|x| 1.5 * x).collect()
    });
    check_some(operation, shapes, inputs, N, exact);
}

/// The same for given inputs, of which the first `tracked` have gradients.
pub(crate) fn check_some<const N: usize, O: Operation<N>>(
    operation: O,
    shapes: [&[usize]; N],
    inputs: [Vec<f32>; N],
    tracked: usize,
    exact: impl Fn([&[f64]; N]) -> Vec<f64>,
) {
    let views: [View<'_>; N] = from_fn(|i| View { shape: shapes[i], values: &inputs[i] });
    let (shape, output, saved) = operation.forward(views);
    let mut wide: [Vec<f64>; N] = from_fn(|i| inputs[i].iter().map(|x| f64::from(*x)).collect());
    close("output", &output, &exact(wide.each_ref().map(|x| &x[..])));

    let weights = random(output.len(), 9);
    let given = given(&operation, &shape, &output);
    let gradient = View { shape: &shape, values: &weights };
    let found = operation.backward(views, given, &saved, gradient, [true; N]);
    for input in 0..tracked {
        let mut loss = |at: usize, moved: f64| {
            let value = std::mem::replace(&mut wide[input][at], moved);
            let output = exact(wide.each_ref().map(|x| &x[..]));
            wide[input][at] = value;
            output.iter().zip(&weights).map(|(y, w)| y * f64::from(*w)).sum::<f64>()
        };
        let expected: Vec<f64> = (0..inputs[input].len())
            .map(|at| {
                let (step, x) = (1e-5, f64::from(inputs[input][at]));
                (loss(at, x + step) - loss(at, x - step)) / (2.0 * step)
            })
            .collect();
        let found = found[input].as_ref().expect("a gradient that was wanted");
        close(&format!("gradient of input {input}"), found, &expected);
    }
}

/// The output as a backward pass is given it.
fn given<'a, const N: usize>(
    operation: &impl Operation<N>,
    shape: &'a [usize],
    values: &'a [f32],
) -> View<'a> {
    if operation.uses_output() { View { shape, values } } else { View { shape: &[], values: &[] } }
}

/// Checks each number to 1e-4 of it and of their root mean square.
pub(crate) fn close(what: &str, found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let mean_square = expected.iter().map(|x| x * x).sum::<f64>() / expected.len() as f64;
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let limit = 1e-4 * (expected.abs() + mean_square.sqrt()) + 1e-9;
        let error = (f64::from(*found) - expected).abs();
        assert!(error <= limit, "{what} at {i}: {found} for {expected}");
    }
}

/// Checks that two ways to compute the same thing agree, values and gradients, on random inputs
/// with gradients, of `shapes`.
#[allow(clippy::type_complexity, reason = "two functions")]
pub(crate) fn check_agree<const A: usize, const D: usize>(
    shapes: &[&[usize]],
    [found, expected]: [&dyn Fn(&[Tensor<1>]) -> Tensor<D>; 2],
) {
    let device = Device::flex().autodiff();
    let outcome = |f: &dyn Fn(&[Tensor<1>]) -> Tensor<D>| {
        let inputs: Vec<Tensor<1>> = (1..)
            .zip(shapes)
            .map(|(seed, shape)| {
                let values = random(shape.iter().product(), seed);
                let count = values.len();
                Tensor::from_data(TensorData::new(values, [count]), &device).require_grad()
            })
            .collect();
        let output = f(&inputs);
        let count = output.shape().num_elements();
        let weights = TensorData::new(random(count, 9), output.dims());
        let loss = (output.clone() * Tensor::from_data(weights, &device)).sum();
        let gradients = loss.backward();
        let mut all = vec![output.into_data()];
        for input in &inputs[..A] {
            all.push(input.grad(&gradients).expect("tracked").into_data());
        }
        all
    };
    for (i, (found, expected)) in outcome(found).iter().zip(outcome(expected)).enumerate() {
        let expected: Vec<f64> = expected.iter::<f64>().collect();
        close(&format!("tensor {i}"), &found.iter::<f32>().collect::<Vec<_>>(), &expected);
    }
}

/// Checks that values and gradients have the same bits on 1, 2, 3 and 7 threads.
pub(crate) fn check_threads<const N: usize, O: Operation<N>>(operation: O, shapes: [&[usize]; N]) {
    let inputs: [Vec<f32>; N] = from_fn(|i| random(shapes[i].iter().product(), i as u64 + 1));
    let views: [View<'_>; N] = from_fn(|i| View { shape: shapes[i], values: &inputs[i] });
    let run = || {
        let (shape, values, saved) = operation.forward(views);
        let weights = random(values.len(), 9);
        let given = given(&operation, &shape, &values);
        let gradient = View { shape: &shape, values: &weights };
        let gradients = operation.backward(views, given, &saved, gradient, [true; N]);
        (gradients, values)
    };
    let [one, others @ ..] = [1, 2, 3, 7].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(run)
    });
    for other in others {
        assert!(other == one);
    }
}
