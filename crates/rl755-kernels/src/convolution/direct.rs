//! A convolution that reads the frames where they are: what a row of the kernel sees of a frame with
//! the channel last is one run of numbers, so that nothing has to be gathered.
//!
//! A tile of some places and two vectors of outputs is summed up in registers. Each sum has its own
//! order, so that it does not depend on what else is in its tile.

use pulp::{Arch, Simd, WithSimd};

use super::{
    Activation,
    geometry::Geometry,
    passes::{SCRATCH, Scratch},
};

/// Numbers in the frames that are convolved at once: what fits the second-level cache beside the
/// weights.
const FRAMES: usize = 128 << 10;

/// A convolution with its weights in place.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    geometry: Geometry,
    /// That of frames with their padding.
    padded: Geometry,
    /// Outputs at a place.
    n: usize,
    activation: Activation,
    /// Outputs of a panel: two vectors.
    panel: usize,
    /// `[panels, depth, panel]`, filled up with zeros.
    taps: Vec<f32>,
    /// `[panels, panel]`, filled up with zeros.
    bias: Vec<f32>,
    /// Where a frame begins that the kernel sees at each place.
    begins: Vec<usize>,
}

impl Direct {
    /// `weight` is `[n, channel, kernel height, kernel width]`, and `bias` `[n]`.
    pub(crate) fn new(
        geometry: Geometry,
        weight: &[f32],
        bias: Option<&[f32]>,
        activation: Activation,
    ) -> Self {
        let padded = geometry.padded();
        let (depth, channels) = (geometry.depth(), geometry.frame[2]);
        let (area, n, panel) = (depth / channels, weight.len() / depth, panel());
        let mut taps = vec![0.0; n.next_multiple_of(panel) * depth];
        for (output, weight) in weight.chunks_exact(depth).enumerate() {
            let first = output / panel * panel * depth + output % panel;
            for (channel, weight) in weight.chunks_exact(area).enumerate() {
                let taps = taps[first + channel * panel..].iter_mut().step_by(channels * panel);
                taps.zip(weight).for_each(|(to, from)| *to = *from);
            }
        }
        let mut bias = bias.map_or_else(Vec::new, <[f32]>::to_vec);
        bias.resize(n.next_multiple_of(panel), 0.0);
        let begins = padded.begins().collect();
        Self { geometry, padded, n, activation, panel, taps, bias, begins }
    }

    /// Numbers in what comes out of a frame.
    pub(crate) fn output(&self) -> usize {
        self.begins.len() * self.n
    }

    /// Frames at once.
    pub(crate) fn at_once(&self) -> usize {
        (FRAMES / self.geometry.width()).max(1)
    }

    /// Convolves some frames on the calling thread. The result for a frame has the same bits
    /// whatever the others are.
    pub(crate) fn convolve(&self, frames: &[f32], output: &mut [f32]) {
        debug_assert_eq!(frames.len() / self.geometry.width(), output.len() / self.output());
        if self.geometry == self.padded {
            return Arch::new().dispatch(Tiles { layer: self, frames, output });
        }
        SCRATCH.with_borrow_mut(|Scratch { patches: padded, .. }| {
            self.geometry.pad(frames, padded);
            Arch::new().dispatch(Tiles { layer: self, frames: padded, output });
        });
    }
}

/// Outputs of a panel.
fn panel() -> usize {
    struct Lanes;
    impl WithSimd for Lanes {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES
        }
    }
    2 * Arch::new().dispatch(Lanes)
}

struct Tiles<'a> {
    layer: &'a Direct,
    frames: &'a [f32],
    output: &'a mut [f32],
}

impl WithSimd for Tiles<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { layer, frames, output } = self;
        let depth = layer.geometry.depth();
        let panels = layer.taps.chunks_exact(depth * layer.panel);
        for (i, (taps, bias)) in panels.zip(layer.bias.chunks_exact(layer.panel)).enumerate() {
            let panel = Panel {
                simd,
                layer,
                taps: pulp::as_arrays(S::as_simd_f32s(taps).0).0,
                bias: pulp::as_arrays(S::as_simd_f32s(bias).0).0[0],
                first: i * layer.panel,
            };
            let mut begins = Begins { each: &layer.begins, frame: 0, place: 0 };
            let mut rows = &mut output[..];
            // As many sums as there are registers for, beside the weights.
            while !rows.is_empty() {
                rows = match rows.len() / layer.n {
                    12.. if S::REGISTER_COUNT >= 32 => panel.tile::<12>(frames, &mut begins, rows),
                    6.. => panel.tile::<6>(frames, &mut begins, rows),
                    4.. => panel.tile::<4>(frames, &mut begins, rows),
                    _ => panel.tile::<1>(frames, &mut begins, rows),
                };
            }
        }
    }
}

/// Where in the frames the places of all of them begin, one after another.
struct Begins<'a> {
    each: &'a [usize],
    /// Where the frame begins.
    frame: usize,
    place: usize,
}

impl Begins<'_> {
    #[inline(always)]
    fn next(&mut self, frame: usize) -> usize {
        let begin = self.frame + self.each[self.place];
        self.place += 1;
        if self.place == self.each.len() {
            (self.place, self.frame) = (0, self.frame + frame);
        }
        begin
    }
}

/// Two vectors of outputs.
struct Panel<'a, S: Simd> {
    simd: S,
    layer: &'a Direct,
    /// `[depth]`.
    taps: &'a [[S::f32s; 2]],
    bias: [S::f32s; 2],
    /// The first of them.
    first: usize,
}

impl<S: Simd> Panel<'_, S> {
    /// Sets the outputs of the panel in the first `ROWS` of `rows`, `[places, n]`; the rest of the
    /// rows.
    // Plain loops: `array::map` is not inlined, and so not compiled for the vectors.
    #[inline(always)]
    fn tile<'o, const ROWS: usize>(
        &self,
        frames: &[f32],
        begins: &mut Begins<'_>,
        rows: &'o mut [f32],
    ) -> &'o mut [f32] {
        let Self { simd, layer, .. } = *self;
        let geometry = &layer.padded;
        let line = geometry.frame[1] * geometry.frame[2];
        let run = geometry.kernel[1] * geometry.frame[2];
        let mut first = [0; ROWS];
        first.iter_mut().for_each(|first| *first = begins.next(geometry.width()));
        let mut sums = [self.bias; ROWS];
        for (i, taps) in self.taps.chunks_exact(run).enumerate() {
            let mut seen = [&[] as &[f32]; ROWS];
            for (seen, first) in seen.iter_mut().zip(&first) {
                *seen = &frames[first + i * line..][..run];
            }
            for (k, taps) in taps.iter().enumerate() {
                for (sums, seen) in sums.iter_mut().zip(&seen) {
                    let value = simd.splat_f32s(seen[k]);
                    sums[0] = simd.mul_add_e_f32s(value, taps[0], sums[0]);
                    sums[1] = simd.mul_add_e_f32s(value, taps[1], sums[1]);
                }
            }
        }
        let (tile, rest) = rows.split_at_mut(ROWS * layer.n);
        for (row, sums) in tile.chunks_exact_mut(layer.n).zip(sums) {
            for (row, sum) in row[self.first..].chunks_mut(S::F32_LANES).zip(sums) {
                let sum = self.activate(sum);
                match S::as_mut_simd_f32s(row) {
                    ([whole, ..], _) => *whole = sum,
                    (_, part) => simd.partial_store_f32s(part, sum),
                }
            }
        }
        rest
    }

    #[inline(always)]
    fn activate(&self, sum: S::f32s) -> S::f32s {
        let zero = self.simd.splat_f32s(0.0);
        match self.layer.activation {
            Activation::None => sum,
            // Not the maximum, which makes a 0 of what is no number.
            Activation::Relu => {
                self.simd.select_f32s(self.simd.less_than_f32s(sum, zero), zero, sum)
            }
        }
    }
}
