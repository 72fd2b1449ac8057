//! The three sums that convolutions and their gradients are made of, for whole batches.
//!
//! With `patches` what a kernel sees of the frames (`[rows, depth]`, a row for each place of each
//! frame), `grid` the numbers at the places (`[rows, n]`) and `taps` the weights (`[n, depth]`):
//!
//! - [`Passes::convolve`]: `grid = patches · tapsᵀ`, a convolution, for which patches are gathered in
//!   small batches only ([`direct`](super::direct));
//! - [`Passes::transpose`]: `patches = grid · taps`, added up to frames, a transposed convolution;
//! - `taps = gridᵀ · patches`, the gradient of the weights of both ([`backward`](super::backward)).
//!
//! The work is split by frames, in pieces that depend on the shapes only.

use std::cell::RefCell;

use rayon::prelude::*;

use super::{
    Activation,
    direct::Direct,
    geometry::{Geometry, PatchOrder},
    pixels::{activate, add_bias, repeated, set_bias},
    weights::{pack, pack_transposed},
};
use crate::{
    matrix_product::{Matrix, Store, multiply, par_multiply},
    simd::vectorized,
};

/// Numbers in the patches of some frames at once: what fits the second-level cache beside others.
const PATCHES: usize = 160 << 10;

/// Parts of a batch whose gradients of the weights are summed up separately, at most. No more
/// threads than that share a layer.
const SHARES: usize = 16;

/// With no more rows than this, splitting by frames leaves products too small: the whole batch is
/// one.
const FEW_ROWS: usize = 512;

/// Memory of a thread: fresh memory would cost as much as the arithmetic.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) patches: Vec<f32>,
    /// The gradient of what an activation was given.
    pub(super) gradient: Vec<f32>,
}

thread_local! {
    pub(super) static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Frames of `geometry`, how many numbers there are at a place, and what happens to the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passes {
    pub(crate) geometry: Geometry,
    pub(crate) batch: usize,
    /// Numbers at a place.
    pub(crate) n: usize,
    pub(crate) activation: Activation,
}

impl Passes {
    pub(super) fn rows(&self) -> usize {
        self.batch * self.geometry.places()
    }

    /// Frames in a share.
    pub(super) fn share(&self) -> usize {
        self.batch.div_ceil(SHARES).max(1)
    }

    /// Frames at once: their patches fit the cache.
    pub(super) fn piece(&self) -> usize {
        (PATCHES / (self.geometry.places() * self.geometry.depth())).clamp(1, self.share())
    }

    /// Whether the whole batch is one product.
    pub(super) fn is_one_product(&self) -> bool {
        self.rows() <= FEW_ROWS
    }

    /// With fewer rows than columns, turning the weights around costs more than slower gathering.
    pub(super) fn order(&self) -> PatchOrder {
        if self.rows() < self.n { PatchOrder::ChannelFirst } else { PatchOrder::ChannelLast }
    }

    /// The patches of all frames.
    pub(super) fn gather_all(&self, frames: &[f32]) -> Vec<f32> {
        let width = self.geometry.places() * self.geometry.depth();
        let mut patches = vec![0.0; self.batch * width];
        let each = patches.par_chunks_mut(width).zip(frames.par_chunks(self.geometry.width()));
        each.for_each(|(patches, frame)| self.geometry.gather(frame, self.order(), patches));
        patches
    }

    /// The patches of some frames.
    #[inline(always)]
    pub(super) fn gather<'a>(&self, frames: &[f32], scratch: &'a mut Vec<f32>) -> Matrix<'a> {
        let (places, depth) = (self.geometry.places(), self.geometry.depth());
        let each = frames.chunks_exact(self.geometry.width());
        let rows = each.len() * places;
        scratch.resize(rows * depth, 0.0);
        each.zip(scratch.chunks_exact_mut(places * depth)).for_each(|(frame, patches)| {
            self.geometry.gather(frame, PatchOrder::ChannelLast, patches);
        });
        Matrix::new(scratch, [rows, depth])
    }

    /// Some frames by their patches, `grid · taps`, and what they have already.
    #[inline(always)]
    pub(super) fn scatter(
        &self,
        grid: Matrix<'_>,
        taps: Matrix<'_>,
        scratch: &mut Vec<f32>,
        frames: &mut [f32],
    ) {
        let (places, depth) = (self.geometry.places(), self.geometry.depth());
        scratch.resize(grid.shape()[0] * depth, 0.0);
        multiply(grid, taps, scratch, Store::Set);
        let each = frames.chunks_exact_mut(self.geometry.width());
        each.zip(scratch.chunks_exact(places * depth)).for_each(|(frame, patches)| {
            self.geometry.scatter(patches, PatchOrder::ChannelLast, frame);
        });
    }

    /// `[batch, places, n]` from frames, weights `[n, channel, kernel height, kernel width]` and
    /// bias `[n]`.
    pub(crate) fn convolve(
        &self,
        frames: &[f32],
        weight: &[f32],
        bias: Option<&[f32]>,
    ) -> Vec<f32> {
        let n = self.n;
        let mut grid = vec![0.0; self.rows() * n];
        if self.is_one_product() {
            let patches = self.gather_all(frames);
            self.convolve_as_one(&patches, weight, &mut grid);
            let bias = bias.map(repeated);
            grid.par_chunks_mut(self.geometry.places() * n).for_each(|grid| {
                vectorized(
                    #[inline(always)]
                    || {
                        add_bias(bias.as_deref(), grid);
                        activate(self.activation, grid);
                    },
                );
            });
            return grid;
        }
        let layer = Direct::new(self.geometry, weight, bias, self.activation);
        let piece = layer.at_once().min(self.share());
        let pieces = grid.par_chunks_mut(piece * layer.output());
        let pieces = pieces.zip(frames.par_chunks(piece * self.geometry.width()));
        pieces.for_each(|(grid, frames)| layer.convolve(frames, grid));
        grid
    }

    pub(super) fn convolve_as_one(&self, patches: &[f32], weight: &[f32], grid: &mut [f32]) {
        let (depth, n) = (self.geometry.depth(), self.n);
        let patches = Matrix::new(patches, [self.rows(), depth]);
        if self.order() == PatchOrder::ChannelFirst {
            let taps = Matrix::new(weight, [n, depth]).transposed();
            par_multiply(patches, taps, grid, Store::Set);
        } else {
            let taps = pack_transposed(weight, n, &self.geometry);
            par_multiply(patches, Matrix::new(&taps, [depth, n]), grid, Store::Set);
        }
    }

    /// Frames from `[batch, places, n]`, weights `[n, channel, kernel height, kernel width]` and
    /// bias `[channel]`.
    pub(crate) fn transpose(&self, grid: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
        let (geometry, n) = (&self.geometry, self.n);
        let (places, width) = (geometry.places(), geometry.width());
        let mut frames = vec![0.0; self.batch * width];
        let bias = bias.map(repeated);
        let bias = bias.as_deref();
        if self.is_one_product() {
            self.transpose_as_one(grid, weight, bias, &mut frames);
            return frames;
        }
        let taps = pack(weight, geometry);
        let taps = Matrix::new(&taps, [n, geometry.depth()]);
        let piece = self.piece();
        let pieces = frames.par_chunks_mut(piece * width);
        pieces.zip(grid.par_chunks(piece * places * n)).for_each(|(frames, grid)| {
            let grid = Matrix::new(grid, [grid.len() / n, n]);
            SCRATCH.with_borrow_mut(|scratch| {
                vectorized(
                    #[inline(always)]
                    || {
                        if bias.is_some() {
                            set_bias(bias, frames);
                        }
                        self.scatter(grid, taps, &mut scratch.patches, frames);
                        activate(self.activation, frames);
                    },
                );
            });
        });
        frames
    }

    fn transpose_as_one(
        &self,
        grid: &[f32],
        weight: &[f32],
        bias: Option<&[f32]>,
        frames: &mut [f32],
    ) {
        let (geometry, n) = (&self.geometry, self.n);
        let (depth, order) = (geometry.depth(), self.order());
        let grid = Matrix::new(grid, [self.rows(), n]);
        let mut patches = vec![0.0; self.rows() * depth];
        if order == PatchOrder::ChannelFirst {
            par_multiply(grid, Matrix::new(weight, [n, depth]), &mut patches, Store::Set);
        } else {
            let taps = pack(weight, geometry);
            par_multiply(grid, Matrix::new(&taps, [n, depth]), &mut patches, Store::Set);
        }
        let each = frames.par_chunks_mut(geometry.width());
        each.zip(patches.par_chunks(geometry.places() * depth)).for_each(|(frame, patches)| {
            vectorized(
                #[inline(always)]
                || {
                    set_bias(bias, frame);
                    geometry.scatter(patches, order, frame);
                    activate(self.activation, frame);
                },
            );
        });
    }
}
