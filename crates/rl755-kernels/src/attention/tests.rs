//! Attention against its definition and against burn.

use super::*;
use crate::reference::{check, check_agree, check_threads};

/// The definition, for sequences `[length, width]`, with a mask.
fn exact(
    [q, k, v]: [&[f64]; 3],
    mask: Option<&[f64]>,
    [length, width, heads]: [usize; 3],
) -> Vec<f64> {
    let size = width / heads;
    let mut output = vec![0.0; q.len()];
    for sequence in 0..q.len() / (length * width) {
        let at = |step: usize, i: usize| (sequence * length + step) * width + i;
        for (head, step) in (0..heads).flat_map(|h| (0..length).map(move |s| (h, s))) {
            let part = head * size..(head + 1) * size;
            let score = |other: usize| -> f64 {
                part.clone().map(|i| q[at(step, i)] * k[at(other, i)]).sum::<f64>()
                    / (size as f64).sqrt()
            };
            let total: f64 = (0..=step).map(|other| score(other).exp()).sum();
            for other in 0..=step {
                let place = ((sequence * heads + head) * length + step) * length + other;
                let weight = score(other).exp() / total * mask.map_or(1.0, |mask| mask[place]);
                for i in part.clone() {
                    output[at(step, i)] += weight * v[at(other, i)];
                }
            }
        }
    }
    output
}

#[test]
fn values_and_gradients_are_those_of_the_definition() {
    for [batch, length, width, heads] in [[1, 1, 1, 1], [2, 5, 6, 2], [1, 7, 4, 4], [2, 3, 8, 1]] {
        let shape: &[usize] = &[batch, length, width];
        let sizes = [length, width, heads];
        check(Attention { heads }, [shape; 3], |inputs| exact(inputs, None, sizes));
    }
}

#[test]
fn weights_are_multiplied_by_the_mask() {
    let (shape, heads) = ([2, 4, 6], 2);
    let shapes: [&[usize]; 4] = [&shape, &shape, &shape, &[2, heads, 4, 4]];
    let mask = (0..64).map(|i| if i % 3 == 0 { 0.0 } else { 1.5 }).collect::<Vec<f32>>();
    let wide: Vec<f64> = mask.iter().map(|m| f64::from(*m)).collect();
    let random = |seed| crate::testing::random(48, seed);
    let inputs = [random(1), random(2), random(3), mask];
    crate::reference::check_some(Masked(Attention { heads }), shapes, inputs, 3, |[q, k, v, _]| {
        exact([q, k, v], Some(&wide), [4, 6, heads])
    });
}

#[test]
fn kernel_and_burn_agree() {
    let (batch, length, width, heads) = (5, 33, 48, 3);
    let shape = [batch, length, width];
    type Function = fn([Tensor<3>; 3], usize, Option<Tensor<4>>) -> Tensor<3>;
    let call = |f: Function, masked: bool| {
        move |x: &[Tensor<1>]| {
            let inputs = [&x[0], &x[1], &x[2]].map(|x| x.clone().reshape(shape));
            let mask = x[3].clone().reshape([batch, heads, length, length]);
            f(inputs, heads, masked.then_some(mask))
        }
    };
    let count = batch * length * width;
    let shapes: [&[usize]; 4] = [&[count], &[count], &[count], &[batch * heads * length * length]];
    for masked in [false, true] {
        let both: [Function; 2] = [causal_attention, composed];
        let [kernel, burn] = both.map(|f| call(f, masked));
        check_agree::<3, 3>(&shapes, [&kernel, &burn]);
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    check_threads(Attention { heads: 2 }, [&[5, 40, 32]; 3]);
}
