//! The backward passes of both layers. For each piece of a batch, one look at the patches gives the
//! gradients of the input, the weights and the bias.

use rayon::prelude::*;

use super::{
    Activation,
    geometry::PatchOrder,
    passes::{Passes, SCRATCH, Scratch},
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
    pub(crate) wants: Wants,
}

/// Of what the gradient is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    pub(crate) input: bool,
    pub(crate) weight: bool,
    pub(crate) bias: bool,
}

/// Gradients of input, weight and bias, as far as they are asked for.
pub(crate) type Gradients = [Option<Vec<f32>>; 3];

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
    of_taps: Option<&'a mut [f32]>,
    store: Store,
}

impl Passes {
    /// The backward pass of [`convolve`](Self::convolve).
    pub(crate) fn convolve_back(&self, given: Backward<'_>) -> Gradients {
        let (geometry, n) = (&self.geometry, self.n);
        let wants = given.wants;
        if self.is_one_product() {
            let gradient = all_before(self.activation, given.output, given.gradient);
            let linear = Self { activation: Activation::None, ..*self };
            return [
                wants.input.then(|| linear.transpose(&gradient, given.weight, None)),
                wants
                    .weight
                    .then(|| self.weight_gradient_as_one(&self.gather_all(given.input), &gradient)),
                wants.bias.then(|| par_sum(&gradient, n)),
            ];
        }
        let taps = if wants.input { pack(given.weight, geometry) } else { Vec::new() };
        let widths = Widths { input: geometry.width(), output: geometry.places() * n, channels: n };
        self.by_pieces(
            given,
            widths,
            #[inline(always)]
            |piece, scratch| {
                let Scratch { patches, gradient } = scratch;
                let gradient = before(self.activation, piece.output, piece.gradient, gradient);
                let grid = Matrix::new(gradient, [gradient.len() / n, n]);
                if let Some(of_taps) = &mut piece.of_taps {
                    let seen = self.gather(piece.input, patches);
                    multiply(grid.transposed(), seen, of_taps, piece.store);
                }
                if let Some(frames) = &mut piece.of_input {
                    let taps = Matrix::new(&taps, [n, geometry.depth()]);
                    self.scatter(grid, taps, patches, frames);
                }
                if wants.bias { sum(gradient, n) } else { Vec::new() }
            },
        )
    }

    /// The backward pass of [`transpose`](Self::transpose).
    pub(crate) fn transpose_back(&self, given: Backward<'_>) -> Gradients {
        let (geometry, n) = (&self.geometry, self.n);
        let (channels, wants) = (geometry.frame[2], given.wants);
        if self.is_one_product() {
            let gradient = all_before(self.activation, given.output, given.gradient);
            let of_bias = wants.bias.then(|| par_sum(&gradient, channels));
            if !(wants.input || wants.weight) {
                return [None, None, of_bias];
            }
            let patches = self.gather_all(&gradient);
            let of_input = wants.input.then(|| {
                let mut grid = vec![0.0; self.rows() * n];
                self.convolve_as_one(&patches, given.weight, &mut grid);
                grid
            });
            let of_weight =
                wants.weight.then(|| self.weight_gradient_as_one(&patches, given.input));
            return [of_input, of_weight, of_bias];
        }
        let taps =
            if wants.input { pack_transposed(given.weight, n, geometry) } else { Vec::new() };
        let widths = Widths { input: geometry.places() * n, output: geometry.width(), channels };
        self.by_pieces(
            given,
            widths,
            #[inline(always)]
            |piece, scratch| {
                let Scratch { patches, gradient } = scratch;
                let gradient = before(self.activation, piece.output, piece.gradient, gradient);
                if wants.input || wants.weight {
                    let seen = self.gather(gradient, patches);
                    if let Some(of_taps) = &mut piece.of_taps {
                        let grid = Matrix::new(piece.input, [piece.input.len() / n, n]);
                        multiply(grid.transposed(), seen, of_taps, piece.store);
                    }
                    if let Some(grid) = &mut piece.of_input {
                        multiply(seen, Matrix::new(&taps, [geometry.depth(), n]), grid, Store::Set);
                    }
                }
                if wants.bias { sum(gradient, channels) } else { Vec::new() }
            },
        )
    }

    /// Has `work` done for each piece of the batch; it returns the gradient of the bias. What each
    /// share adds up is added up in the order of the frames, whoever is ready first.
    fn by_pieces(
        &self,
        given: Backward<'_>,
        widths: Widths,
        work: impl Fn(&mut Piece<'_>, &mut Scratch) -> Vec<f32> + Sync,
    ) -> Gradients {
        let Backward { input, output, gradient, wants, .. } = given;
        let (share, piece) = (self.share(), self.piece());
        let shares = self.batch.div_ceil(share);
        let size = self.n * self.geometry.depth();
        let mut of_input = vec![0.0; if wants.input { input.len() } else { 0 }];
        let mut sums = vec![0.0; if wants.weight { shares * size } else { 0 }];
        let to_fill = parts(&mut of_input, share * widths.input, shares).into_par_iter();
        let each = to_fill.zip(parts(&mut sums, size, shares));
        let each = each.zip(input.par_chunks(share * widths.input)).enumerate();
        let of_bias = each.map(|(i, ((of_input, mut of_taps), input))| {
            // Where the output is not used there is none.
            let output = output.chunks(share * widths.output).nth(i).unwrap_or(&[]);
            let gradient = gradient.chunks(share * widths.output).nth(i).unwrap_or(&[]);
            let mut to_fill = of_input.map(|of_input| of_input.chunks_mut(piece * widths.input));
            let mut outputs = output.chunks(piece * widths.output);
            let pieces = input.chunks(piece * widths.input);
            let pieces = pieces.zip(gradient.chunks(piece * widths.output)).enumerate();
            let mut of_bias = Vec::new();
            for (i, (input, gradient)) in pieces {
                let mut piece = Piece {
                    input,
                    output: outputs.next().unwrap_or(&[]),
                    gradient,
                    of_input: to_fill.as_mut().and_then(Iterator::next),
                    of_taps: of_taps.as_deref_mut(),
                    store: if i == 0 { Store::Set } else { Store::Add },
                };
                let added = SCRATCH.with_borrow_mut(|scratch| {
                    vectorized(
                        #[inline(always)]
                        || work(&mut piece, scratch),
                    )
                });
                of_bias.extend(added);
            }
            sum(&of_bias, widths.channels)
        });
        let of_bias = of_bias.collect::<Vec<_>>().concat();
        [
            wants.input.then_some(of_input),
            wants.weight.then(|| self.add_up(&mut sums)),
            wants.bias.then(|| sum(&of_bias, widths.channels)),
        ]
    }

    /// The gradient of the weights from those of the shares, `[shares, n, depth]`.
    fn add_up(&self, sums: &mut [f32]) -> Vec<f32> {
        let row = self.geometry.depth();
        let size = self.n * row;
        let (taps, others) = sums.split_at_mut(size);
        taps.par_chunks_mut(row).enumerate().for_each(|(i, taps)| {
            vectorized(
                #[inline(always)]
                || {
                    for other in others.chunks_exact(size) {
                        let other = &other[i * row..(i + 1) * row];
                        taps.iter_mut().zip(other).for_each(|(to, from)| *to += from);
                    }
                },
            );
        });
        unpack(taps, &self.geometry)
    }

    fn weight_gradient_as_one(&self, patches: &[f32], grid: &[f32]) -> Vec<f32> {
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

/// `values` in parts of `size`, `count` times; nothing as often, where there are none.
fn parts(values: &mut [f32], size: usize, count: usize) -> Vec<Option<&mut [f32]>> {
    let mut parts: Vec<Option<&mut [f32]>> = values.chunks_mut(size).map(Some).collect();
    parts.resize_with(count, || None);
    parts
}
