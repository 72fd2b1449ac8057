//! The three sums that convolutions and their gradients are made of, for whole batches.
//!
//! With `patches` what a kernel sees of the frames (`[rows, depth]`, a row for each place of each
//! frame), `grid` the numbers at the places (`[rows, n]`) and `taps` the weights (`[n, depth]`):
//!
//! - [`Passes::look`]: `grid = patches · tapsᵀ`, a convolution;
//! - [`Passes::paint`]: `patches = grid · taps`, added up to frames, a transposed convolution;
//! - [`Passes::compare`]: `taps = gridᵀ · patches`, the gradient of the weights of both.
//!
//! The work is split by frames, in pieces that depend on the shapes only.

use std::cell::RefCell;

use rayon::prelude::*;

use super::{
    geometry::{Geometry, PatchOrder},
    weights::{pack, pack_transposed, unpack},
};
use crate::matrix_product::{Matrix, Store, multiply, par_multiply};

/// Rows of patches at once: about as many as the second-level cache holds.
const ROWS: usize = 1024;

/// Pieces of a batch, at most.
const PIECES: usize = 16;

/// With fewer rows than this, splitting by frames leaves products too small: the whole batch is
/// one.
const FEW_ROWS: usize = 512;

thread_local! {
    /// Patches of a piece: fresh memory would cost as much as the arithmetic.
    static PATCHES: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

fn with_patches<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    PATCHES.with_borrow_mut(|patches| {
        if patches.len() < len {
            patches.resize(len, 0.0);
        }
        work(&mut patches[..len])
    })
}

/// Frames of `geometry`, and how many numbers there are at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passes {
    pub(crate) geometry: Geometry,
    pub(crate) batch: usize,
    /// Numbers at a place.
    pub(crate) n: usize,
}

impl Passes {
    fn rows(&self) -> usize {
        self.batch * self.geometry.places()
    }

    /// Frames in a piece.
    fn piece(&self) -> usize {
        let fitting = ROWS / self.geometry.places();
        fitting.min(self.batch / PIECES).max(1)
    }

    fn is_whole(&self) -> bool {
        self.rows() <= FEW_ROWS
    }

    /// With fewer rows than columns, turning the weights around costs more than slower gathering.
    fn order(&self) -> PatchOrder {
        if self.rows() < self.n { PatchOrder::ChannelFirst } else { PatchOrder::ChannelLast }
    }

    fn gather_all(&self, frames: &[f32]) -> Vec<f32> {
        let width = self.geometry.places() * self.geometry.depth();
        let mut patches = vec![0.0; self.batch * width];
        let each = patches.par_chunks_mut(width).zip(frames.par_chunks(self.geometry.width()));
        each.for_each(|(patches, frame)| self.geometry.gather(frame, self.order(), patches));
        patches
    }

    fn gather_some(&self, frames: &[f32], patches: &mut [f32]) {
        let width = self.geometry.places() * self.geometry.depth();
        let each = frames.chunks_exact(self.geometry.width());
        each.zip(patches.chunks_exact_mut(width)).for_each(|(frame, patches)| {
            self.geometry.gather(frame, PatchOrder::ChannelLast, patches);
        });
    }

    /// `[batch, places, n]` from frames and weights `[n, channel, kernel height, kernel width]`;
    /// `finish` is given each piece.
    pub(crate) fn look(
        &self,
        frames: &[f32],
        weight: &[f32],
        finish: impl Fn(&mut [f32]) + Sync,
    ) -> Vec<f32> {
        let (geometry, n) = (&self.geometry, self.n);
        let (depth, places) = (geometry.depth(), geometry.places());
        let mut grid = vec![0.0; self.rows() * n];
        if self.is_whole() {
            let patches = self.gather_all(frames);
            let patches = Matrix::new(&patches, [self.rows(), depth]);
            if self.order() == PatchOrder::ChannelFirst {
                let taps = Matrix::new(weight, [n, depth]).transposed();
                par_multiply(patches, taps, &mut grid, Store::Set);
            } else {
                let taps = pack_transposed(weight, n, geometry);
                par_multiply(patches, Matrix::new(&taps, [depth, n]), &mut grid, Store::Set);
            }
            grid.par_chunks_mut(places * n).for_each(&finish);
            return grid;
        }
        let taps = pack_transposed(weight, n, geometry);
        let taps = Matrix::new(&taps, [depth, n]);
        let piece = self.piece();
        let pieces = grid.par_chunks_mut(piece * places * n);
        pieces.zip(frames.par_chunks(piece * geometry.width())).for_each(|(grid, frames)| {
            let rows = grid.len() / n;
            with_patches(rows * depth, |patches| {
                self.gather_some(frames, patches);
                multiply(Matrix::new(patches, [rows, depth]), taps, grid, Store::Set);
            });
            finish(grid);
        });
        grid
    }

    /// Frames from `[batch, places, n]` and weights `[n, channel, kernel height, kernel width]`;
    /// `begin` and `finish` are given each frame, before and after.
    pub(crate) fn paint(
        &self,
        grid: &[f32],
        weight: &[f32],
        begin: impl Fn(&mut [f32]) + Sync,
        finish: impl Fn(&mut [f32]) + Sync,
    ) -> Vec<f32> {
        let (geometry, n) = (&self.geometry, self.n);
        let (depth, places, width) = (geometry.depth(), geometry.places(), geometry.width());
        let mut frames = vec![0.0; self.batch * width];
        let scatter = |order, patches: &[f32], frame: &mut [f32]| {
            begin(frame);
            geometry.scatter(patches, order, frame);
            finish(frame);
        };
        if self.is_whole() {
            let order = self.order();
            let grid = Matrix::new(grid, [self.rows(), n]);
            let mut patches = vec![0.0; self.rows() * depth];
            if order == PatchOrder::ChannelFirst {
                let taps = Matrix::new(weight, [n, depth]);
                par_multiply(grid, taps, &mut patches, Store::Set);
            } else {
                let taps = pack(weight, geometry);
                par_multiply(grid, Matrix::new(&taps, [n, depth]), &mut patches, Store::Set);
            }
            let each = frames.par_chunks_mut(width).zip(patches.par_chunks(places * depth));
            each.for_each(|(frame, patches)| scatter(order, patches, frame));
            return frames;
        }
        let taps = pack(weight, geometry);
        let taps = Matrix::new(&taps, [n, depth]);
        let piece = self.piece();
        let pieces = frames.par_chunks_mut(piece * width);
        pieces.zip(grid.par_chunks(piece * places * n)).for_each(|(frames, grid)| {
            let rows = grid.len() / n;
            with_patches(rows * depth, |patches| {
                multiply(Matrix::new(grid, [rows, n]), taps, patches, Store::Set);
                let each = frames.chunks_exact_mut(width);
                each.zip(patches.chunks_exact(places * depth)).for_each(|(frame, patches)| {
                    scatter(PatchOrder::ChannelLast, patches, frame);
                });
            });
        });
        frames
    }

    /// Weights `[n, channel, kernel height, kernel width]` from frames and `[batch, places, n]`.
    pub(crate) fn compare(&self, frames: &[f32], grid: &[f32]) -> Vec<f32> {
        let (geometry, n) = (&self.geometry, self.n);
        let (depth, places, width) = (geometry.depth(), geometry.places(), geometry.width());
        if self.is_whole() {
            let patches = self.gather_all(frames);
            let patches = Matrix::new(&patches, [self.rows(), depth]);
            let grid = Matrix::new(grid, [self.rows(), n]);
            let mut taps = vec![0.0; n * depth];
            par_multiply(grid.transposed(), patches, &mut taps, Store::Set);
            return match self.order() {
                PatchOrder::ChannelFirst => taps,
                PatchOrder::ChannelLast => unpack(&taps, geometry),
            };
        }
        let share = self.batch.div_ceil(PIECES);
        let shares = self.batch.div_ceil(share);
        let mut sums = vec![0.0; shares * n * depth];
        let piece = self.piece().min(share);
        let each = sums.par_chunks_mut(n * depth).zip(frames.par_chunks(share * width));
        each.zip(grid.par_chunks(share * places * n)).for_each(|((taps, frames), grid)| {
            let pieces = frames.chunks(piece * width).zip(grid.chunks(piece * places * n));
            for (i, (frames, grid)) in pieces.enumerate() {
                let rows = grid.len() / n;
                let store = if i == 0 { Store::Set } else { Store::Add };
                with_patches(rows * depth, |patches| {
                    self.gather_some(frames, patches);
                    let grid = Matrix::new(grid, [rows, n]);
                    multiply(grid.transposed(), Matrix::new(patches, [rows, depth]), taps, store);
                });
            }
        });
        // Added up in the order of the frames, whoever is ready first.
        let (taps, others) = sums.split_at_mut(n * depth);
        taps.par_chunks_mut(depth).enumerate().for_each(|(row, taps)| {
            for other in others.chunks_exact(n * depth) {
                let other = &other[row * depth..(row + 1) * depth];
                taps.iter_mut().zip(other).for_each(|(to, from)| *to += from);
            }
        });
        unpack(taps, geometry)
    }
}
