//! The backward passes of both layers. For each piece of a batch, one look at the patches gives the
//! gradients of the input, the weights and the bias.

use rayon::prelude::*;

use super::{
    Activation,
    geometry::PatchOrder,
    passes::{Passes, ROOM, Room},
    pixels::{all_before, before, par_sum, sum},
    weights::{pack, pack_transposed, unpack},
};
use crate::{
    matrix_product::{Matrix, Store, multiply, par_multiply},
    simd::vectorized,
};

/// What a backward pass starts from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backward<'a> {
    pub(crate) input: &'a [f32],
    /// `[n, channel, kernel height, kernel width]`.
    pub(crate) weight: &'a [f32],
    pub(crate) output: &'a [f32],
    /// Of the output.
    pub(crate) gradient: &'a [f32],
    /// Whether the gradient of the input is.
    pub(crate) wanted: bool,
}

/// Gradients of input (if wanted), weight and bias.
pub(crate) type Gradients = (Option<Vec<f32>>, Vec<f32>, Vec<f32>);

/// Numbers of a frame in the input and the output of a layer, and channels of the output.
#[derive(Clone, Copy)]
struct Widths {
    input: usize,
    output: usize,
    channels: usize,
}

/// Some frames, and where their gradients go.
struct Piece<'a> {
    input: &'a [f32],
    output: &'a [f32],
    gradient: &'a [f32],
    /// To be set; zeros.
    of_input: Option<&'a mut [f32]>,
    /// `[n, depth]`.
    of_taps: &'a mut [f32],
    store: Store,
}

impl Passes {
    /// The backward pass of [`look`](Self::look).
    pub(crate) fn look_back(&self, given: Backward<'_>) -> Gradients {
        let (geometry, n) = (&self.geometry, self.n);
        if self.is_whole() {
            let gradient = all_before(self.activation, given.output, given.gradient);
            let linear = Self { activation: Activation::None, ..*self };
            return (
                given.wanted.then(|| linear.paint(&gradient, given.weight, None)),
                self.compare_all(&self.gather_all(given.input), &gradient),
                par_sum(&gradient, n),
            );
        }
        let taps = if given.wanted { pack(given.weight, geometry) } else { Vec::new() };
        let widths = Widths { input: geometry.width(), output: geometry.places() * n, channels: n };
        self.by_pieces(given, widths, |piece, room| {
            let Room { patches, gradient } = room;
            let gradient = before(self.activation, piece.output, piece.gradient, gradient);
            let grid = Matrix::new(gradient, [gradient.len() / n, n]);
            let seen = self.gather(piece.input, patches);
            multiply(grid.transposed(), seen, piece.of_taps, piece.store);
            if let Some(frames) = piece.of_input {
                let taps = Matrix::new(&taps, [n, geometry.depth()]);
                self.scatter(grid, taps, patches, frames);
            }
            sum(gradient, n)
        })
    }

    /// The backward pass of [`paint`](Self::paint).
    pub(crate) fn paint_back(&self, given: Backward<'_>) -> Gradients {
        let (geometry, n) = (&self.geometry, self.n);
        let channels = geometry.frame[2];
        if self.is_whole() {
            let gradient = all_before(self.activation, given.output, given.gradient);
            let patches = self.gather_all(&gradient);
            let of_input = given.wanted.then(|| {
                let mut grid = vec![0.0; self.rows() * n];
                self.look_whole(&patches, given.weight, &mut grid);
                grid
            });
            return (
                of_input,
                self.compare_all(&patches, given.input),
                par_sum(&gradient, channels),
            );
        }
        let taps =
            if given.wanted { pack_transposed(given.weight, n, geometry) } else { Vec::new() };
        let widths = Widths { input: geometry.places() * n, output: geometry.width(), channels };
        self.by_pieces(given, widths, |piece, room| {
            let Room { patches, gradient } = room;
            let gradient = before(self.activation, piece.output, piece.gradient, gradient);
            let grid = Matrix::new(piece.input, [piece.input.len() / n, n]);
            let seen = self.gather(gradient, patches);
            multiply(grid.transposed(), seen, piece.of_taps, piece.store);
            if let Some(grid) = piece.of_input {
                multiply(seen, Matrix::new(&taps, [geometry.depth(), n]), grid, Store::Set);
            }
            sum(gradient, channels)
        })
    }

    /// Has `work` done for each piece of the batch; it returns the gradient of the bias. What each
    /// share adds up is added up in the order of the frames, whoever is ready first.
    fn by_pieces(
        &self,
        given: Backward<'_>,
        widths: Widths,
        work: impl Fn(Piece<'_>, &mut Room) -> Vec<f32> + Sync,
    ) -> Gradients {
        let Backward { input, output, gradient, wanted, .. } = given;
        let (share, piece) = (self.share(), self.piece());
        let size = self.n * self.geometry.depth();
        let mut of_input = vec![0.0; if wanted { input.len() } else { 0 }];
        let mut sums = vec![0.0; self.batch.div_ceil(share) * size];
        let mut to_fill: Vec<Option<&mut [f32]>> =
            of_input.chunks_mut(share * widths.input).map(Some).collect();
        to_fill.resize_with(self.batch.div_ceil(share), || None);
        let each = to_fill.into_par_iter().zip(sums.par_chunks_mut(size));
        let each = each.zip(input.par_chunks(share * widths.input));
        let each = each.zip(output.par_chunks(share * widths.output));
        let each = each.zip(gradient.par_chunks(share * widths.output));
        let of_bias = each.map(|((((of_input, of_taps), input), output), gradient)| {
            let mut to_fill = of_input.map(|of_input| of_input.chunks_mut(piece * widths.input));
            let outputs = output.chunks(piece * widths.output);
            let pieces = input.chunks(piece * widths.input).zip(outputs);
            let pieces = pieces.zip(gradient.chunks(piece * widths.output)).enumerate();
            let mut of_bias = Vec::new();
            for (i, ((input, output), gradient)) in pieces {
                let piece = Piece {
                    input,
                    output,
                    gradient,
                    of_input: to_fill.as_mut().and_then(Iterator::next),
                    of_taps,
                    store: if i == 0 { Store::Set } else { Store::Add },
                };
                let added = ROOM.with_borrow_mut(|room| vectorized(|| work(piece, room)));
                of_bias.extend(added);
            }
            sum(&of_bias, widths.channels)
        });
        let of_bias = of_bias.collect::<Vec<_>>().concat();
        let (taps, others) = sums.split_at_mut(size);
        let row = self.geometry.depth();
        taps.par_chunks_mut(row).enumerate().for_each(|(i, taps)| {
            vectorized(|| {
                for other in others.chunks_exact(size) {
                    let other = &other[i * row..(i + 1) * row];
                    taps.iter_mut().zip(other).for_each(|(to, from)| *to += from);
                }
            });
        });
        let of_weight = unpack(taps, &self.geometry);
        (wanted.then_some(of_input), of_weight, sum(&of_bias, widths.channels))
    }

    fn compare_all(&self, patches: &[f32], grid: &[f32]) -> Vec<f32> {
        let (depth, n) = (self.geometry.depth(), self.n);
        let patches = Matrix::new(patches, [self.rows(), depth]);
        let grid = Matrix::new(grid, [self.rows(), n]);
        let mut taps = vec![0.0; n * depth];
        par_multiply(grid.transposed(), patches, &mut taps, Store::Set);
        match self.order() {
            PatchOrder::ChannelFirst => taps,
            PatchOrder::ChannelLast => unpack(&taps, &self.geometry),
        }
    }
}
