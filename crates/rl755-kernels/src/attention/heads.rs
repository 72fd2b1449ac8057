//! One head of attention over one sequence.

use crate::{
    elementwise::exp,
    matrix_product::{Matrix, Store, multiply},
    simd::vectorized,
};

/// How sequences are shared among heads.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub(super) length: usize,
    /// Numbers in a step.
    pub(super) width: usize,
    /// Those of a head.
    pub(super) size: usize,
}

/// One head.
pub(super) struct Head<'a> {
    pub(super) heads: Heads,
    pub(super) index: usize,
    /// `[length, length]`.
    pub(super) mask: Option<&'a [f32]>,
}

impl Head<'_> {
    /// The head's part of `sequence`, `[length, width]`.
    fn part<'a>(&self, sequence: &'a [f32]) -> Matrix<'a> {
        let Heads { length, width, size } = self.heads;
        Matrix::new(sequence, [length, width]).columns(self.index * size..(self.index + 1) * size)
    }

    /// Puts `part`, `[length, size]`, in the head's place of `sequence`, `[length, width]`.
    fn put(&self, part: &[f32], sequence: &mut [f32]) {
        let Heads { width, size, .. } = self.heads;
        for (to, from) in sequence.chunks_exact_mut(width).zip(part.chunks_exact(size)) {
            to[self.index * size..][..size].copy_from_slice(from);
        }
    }

    fn scale(&self) -> f32 {
        1.0 / (self.heads.size as f32).sqrt()
    }

    /// Fills `weights`, `[length, length]`, and the head's part of `output`.
    pub(super) fn forward(&self, [q, k, v]: [&[f32]; 3], weights: &mut [f32], output: &mut [f32]) {
        let Heads { length, size, .. } = self.heads;
        multiply(self.part(q), self.part(k).transposed(), weights, Store::Set);
        let mut dropped = Vec::new();
        softmax(weights, length, self.scale());
        let masked = match self.mask {
            None => &*weights,
            Some(mask) => {
                dropped.extend(weights.iter().zip(mask).map(|(w, m)| w * m));
                &dropped
            }
        };
        let mut part = vec![0.0; length * size];
        multiply(Matrix::new(masked, [length, length]), self.part(v), &mut part, Store::Set);
        self.put(&part, output);
    }

    /// Fills the head's part of the gradients of query, key and value.
    pub(super) fn backward(
        &self,
        [q, k, v]: [&[f32]; 3],
        weights: &[f32],
        gradient: &[f32],
        [of_q, of_k, of_v]: [&mut [f32]; 3],
    ) {
        let Heads { length, size, .. } = self.heads;
        let square = |values| Matrix::new(values, [length, length]);
        let mut part = vec![0.0; length * size];
        let mut masked = weights.to_vec();
        let mut slopes = vec![0.0; length * length];
        multiply(self.part(gradient), self.part(v).transposed(), &mut slopes, Store::Set);
        if let Some(mask) = self.mask {
            for ((masked, slope), mask) in masked.iter_mut().zip(&mut slopes).zip(mask) {
                *masked *= mask;
                *slope *= mask;
            }
        }
        multiply(square(&masked).transposed(), self.part(gradient), &mut part, Store::Set);
        self.put(&part, of_v);
        softmax_back(&mut slopes, weights, length, self.scale());
        multiply(square(&slopes), self.part(k), &mut part, Store::Set);
        self.put(&part, of_q);
        multiply(square(&slopes).transposed(), self.part(q), &mut part, Store::Set);
        self.put(&part, of_k);
    }
}

/// Turns scores into their softmax, with each row's scores up to the diagonal times `scale`, and zeros
/// after it.
fn softmax(scores: &mut [f32], length: usize, scale: f32) {
    vectorized(
        #[inline(always)]
        move || {
            for (row, scores) in scores.chunks_exact_mut(length).enumerate() {
                let (seen, later) = scores.split_at_mut(row + 1);
                later.fill(0.0);
                let largest = seen.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                for score in &mut *seen {
                    *score = exp((*score - largest) * scale);
                }
                let factor = 1.0 / seen.iter().sum::<f32>();
                for score in seen {
                    *score *= factor;
                }
            }
        },
    );
}

/// Turns the gradients of `weights` into those of the scores before scaling.
fn softmax_back(slopes: &mut [f32], weights: &[f32], length: usize, scale: f32) {
    vectorized(
        #[inline(always)]
        move || {
            let rows = slopes.chunks_exact_mut(length);
            for (slopes, weights) in rows.zip(weights.chunks_exact(length)) {
                let mean: f32 = slopes.iter().zip(weights).map(|(s, w)| s * w).sum();
                for (slope, weight) in slopes.iter_mut().zip(weights) {
                    *slope = (*slope - mean) * weight * scale;
                }
            }
        },
    );
}
