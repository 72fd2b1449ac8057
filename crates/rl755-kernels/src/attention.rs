//! Causal multi-head self-attention (Vaswani et al. 2017).

mod heads;

use burn::tensor::{Device, Tensor, TensorData, activation::softmax};
use rayon::prelude::*;

use crate::{Operation, View, apply, runs_here};
use heads::{Head, Heads};

/// Each step's mean of the values of the steps so far, `[batch, length, width]`, weighted by the
/// softmax of `query · key / √(width / heads)`; each of `heads` does this for its part of the width.
///
/// `query`, `key` and `value` are `[batch, length, width]`. The weights are multiplied by `mask`,
/// `[batch, heads, length, length]`, where there is one: dropout. No gradient reaches it.
///
/// # Panics
/// When `heads` does not divide the width.
pub fn causal_attention(
    [query, key, value]: [Tensor<3>; 3],
    heads: usize,
    mask: Option<Tensor<4>>,
) -> Tensor<3> {
    assert!(query.dims()[2].is_multiple_of(heads), "{heads} heads share a width evenly");
    if !runs_here(&query) {
        return composed([query, key, value], heads, mask);
    }
    let inputs = [query, key, value].map(Tensor::into_dispatch);
    match mask {
        None => apply(Attention { heads }, inputs),
        Some(mask) => {
            let [query, key, value] = inputs;
            apply(Masked(Attention { heads }), [query, key, value, mask.into_dispatch()])
        }
    }
}

fn composed(inputs: [Tensor<3>; 3], heads: usize, mask: Option<Tensor<4>>) -> Tensor<3> {
    let [batch, length, width] = inputs[0].dims();
    let size = width / heads;
    let split = |x: Tensor<3>| x.reshape([batch, length, heads, size]).swap_dims(1, 2);
    let [query, key, value] = inputs.map(split); // [batch, heads, length, size]
    let scores = query.matmul(key.transpose()) * (1.0 / (size as f64).sqrt());
    let weights = softmax(scores + causal_mask(length, &value.device()), 3);
    let weights = match mask {
        Some(mask) => weights * mask.detach(),
        None => weights,
    };
    weights.matmul(value).swap_dims(1, 2).reshape([batch, length, width])
}

/// `[1, 1, length, length]`: nearly minus infinity where a step would look at a later one.
fn causal_mask(length: usize, device: &Device) -> Tensor<4> {
    let allowed = |i: usize| if i % length <= i / length { 0.0f32 } else { -1e9 };
    let values: Vec<f32> = (0..length * length).map(allowed).collect();
    Tensor::from_data(TensorData::new(values, [1, 1, length, length]), device)
}

#[derive(Clone, Copy, Debug)]
struct Attention {
    heads: usize,
}

/// With a fourth input that the weights are multiplied by.
#[derive(Debug)]
struct Masked(Attention);

impl Attention {
    fn heads(&self, query: View<'_>) -> Heads {
        let [length, width] = [query.shape[1], query.shape[2]];
        Heads { length, width, size: width / self.heads }
    }

    /// The output, and the weights before the mask, `[batch, heads, length, length]`.
    fn attend(&self, [q, k, v]: [View<'_>; 3], mask: Option<View<'_>>) -> [Vec<f32>; 2] {
        let heads = self.heads(q);
        let Heads { length, width, .. } = heads;
        let (sequence, squares) = (length * width, self.heads * length * length);
        let mut output = vec![0.0; q.values.len()];
        let mut weights = vec![0.0; q.shape[0] * squares];
        (output.par_chunks_mut(sequence), weights.par_chunks_mut(squares))
            .into_par_iter()
            .enumerate()
            .for_each(|(index, (output, weights))| {
                let [q, k, v] = [q, k, v].map(|x| &x.values[index * sequence..][..sequence]);
                let mask = mask.map(|mask| &mask.values[index * squares..][..squares]);
                for (index, weights) in weights.chunks_exact_mut(length * length).enumerate() {
                    let mask = mask.map(|mask| &mask[index * length * length..][..length * length]);
                    let head = Head { heads, index, mask };
                    head.forward([q, k, v], weights, output);
                }
            });
        [output, weights]
    }

    /// The gradients of query, key and value.
    fn back(
        &self,
        [q, k, v]: [View<'_>; 3],
        mask: Option<View<'_>>,
        weights: &[f32],
        gradient: View<'_>,
    ) -> [Vec<f32>; 3] {
        let heads = self.heads(q);
        let Heads { length, width, .. } = heads;
        let (sequence, squares) = (length * width, self.heads * length * length);
        let zeros = || vec![0.0; q.values.len()];
        let [mut of_q, mut of_k, mut of_v] = [zeros(), zeros(), zeros()];
        (
            of_q.par_chunks_mut(sequence),
            of_k.par_chunks_mut(sequence),
            of_v.par_chunks_mut(sequence),
        )
            .into_par_iter()
            .enumerate()
            .for_each(|(index, (of_q, of_k, of_v))| {
                let [q, k, v, gradient] =
                    [q, k, v, gradient].map(|x| &x.values[index * sequence..][..sequence]);
                let mask = mask.map(|mask| &mask.values[index * squares..][..squares]);
                let weights = &weights[index * squares..][..squares];
                for (index, weights) in weights.chunks_exact(length * length).enumerate() {
                    let mask = mask.map(|mask| &mask[index * length * length..][..length * length]);
                    let head = Head { heads, index, mask };
                    head.backward([q, k, v], weights, gradient, [of_q, of_k, of_v]);
                }
            });
        [of_q, of_k, of_v]
    }
}

impl Operation<3> for Attention {
    /// The weights.
    type Saved = Vec<f32>;

    fn forward(&self, inputs: [View<'_>; 3]) -> (Vec<usize>, Vec<f32>, Vec<f32>) {
        let [output, weights] = self.attend(inputs, None);
        (inputs[0].shape.to_vec(), output, weights)
    }

    fn uses_output(&self) -> bool {
        false
    }

    fn backward(
        &self,
        inputs: [View<'_>; 3],
        _output: View<'_>,
        weights: &Vec<f32>,
        gradient: View<'_>,
        // Query, key and value are linear in the same steps: all are wanted, or none.
        _wanted: [bool; 3],
    ) -> [Option<Vec<f32>>; 3] {
        self.back(inputs, None, weights, gradient).map(Some)
    }
}

impl Operation<4> for Masked {
    /// The weights before the mask.
    type Saved = Vec<f32>;

    fn forward(&self, [q, k, v, mask]: [View<'_>; 4]) -> (Vec<usize>, Vec<f32>, Vec<f32>) {
        let [output, weights] = self.0.attend([q, k, v], Some(mask));
        (q.shape.to_vec(), output, weights)
    }

    fn uses_output(&self) -> bool {
        false
    }

    fn backward(
        &self,
        [q, k, v, mask]: [View<'_>; 4],
        _output: View<'_>,
        weights: &Vec<f32>,
        gradient: View<'_>,
        wanted: [bool; 4],
    ) -> [Option<Vec<f32>>; 4] {
        let [q, k, v] = self.0.back([q, k, v], Some(mask), weights, gradient);
        let none = wanted[3].then(|| vec![0.0; mask.values.len()]);
        [Some(q), Some(k), Some(v), none]
    }
}

#[cfg(test)]
mod tests;
