//! One head of attention over one sequence.

use pulp::{Arch, NullaryFnOnce};

use crate::{
    elementwise::exp,
    matrix_product::{Matrix, Store, multiply},
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
        let scale = self.scale();
        Arch::new().dispatch(Softmax { scores: weights, length, scale });
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
        Arch::new().dispatch(Backward {
            weights,
            length,
            scale: self.scale(),
            slopes: &mut slopes,
        });
        multiply(square(&slopes), self.part(k), &mut part, Store::Set);
        self.put(&part, of_q);
        multiply(square(&slopes).transposed(), self.part(q), &mut part, Store::Set);
        self.put(&part, of_k);
    }
}

/// The softmax of each row's scores up to the diagonal, times `scale`, and zeros after it; compiled
/// for each set of vector instructions.
struct Softmax<'a> {
    scores: &'a mut [f32],
    length: usize,
    scale: f32,
}

impl NullaryFnOnce for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (row, scores) in self.scores.chunks_exact_mut(self.length).enumerate() {
            let (seen, later) = scores.split_at_mut(row + 1);
            later.fill(0.0);
            let largest = seen.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for score in &mut *seen {
                *score = exp((*score - largest) * self.scale);
            }
            let factor = 1.0 / seen.iter().sum::<f32>();
            for score in seen {
                *score *= factor;
            }
        }
    }
}

/// The gradients of scores before scaling from those of the weights.
struct Backward<'a> {
    weights: &'a [f32],
    length: usize,
    scale: f32,
    slopes: &'a mut [f32],
}

impl NullaryFnOnce for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let rows = self.slopes.chunks_exact_mut(self.length);
        for (slopes, weights) in rows.zip(self.weights.chunks_exact(self.length)) {
            let mean: f32 = slopes.iter().zip(weights).map(|(s, w)| s * w).sum();
            for (slope, weight) in slopes.iter_mut().zip(weights) {
                *slope = (*slope - mean) * weight * self.scale;
            }
        }
    }
}
