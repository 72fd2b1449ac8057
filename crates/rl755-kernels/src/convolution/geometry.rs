//! What a kernel sees of a frame at each place, and back.

/// A frame, and the places on it where a kernel is put: the input and output of a convolution, or
/// the output and input of a transposed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Height, width and channels of the frame.
    pub(crate) frame: [usize; 3],
    /// Rows and columns of places.
    pub(crate) grid: [usize; 2],
    /// Height and width of the kernel.
    pub(crate) kernel: [usize; 2],
    /// From a place to the next.
    pub(crate) stride: [usize; 2],
    /// How far the first place is outside the frame.
    pub(crate) padding: [usize; 2],
}

/// The order of the numbers that a kernel sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchOrder {
    /// `[kernel height, kernel width, channel]`: fast to gather.
    ChannelLast,
    /// `[channel, kernel height, kernel width]`, as weights are stored.
    ChannelFirst,
}

impl Geometry {
    /// Places on a frame.
    pub(crate) fn places(&self) -> usize {
        self.grid[0] * self.grid[1]
    }

    /// Numbers that a kernel sees.
    pub(crate) fn depth(&self) -> usize {
        self.kernel[0] * self.kernel[1] * self.frame[2]
    }

    /// Numbers in a frame.
    pub(crate) fn width(&self) -> usize {
        self.frame.iter().product()
    }

    /// Each row of a kernel at each place, as far as it is within the frame: `(place, kernel row,
    /// first kernel column, offset in the frame, pixels)`.
    fn runs(&self) -> impl Iterator<Item = (usize, usize, usize, usize, usize)> + use<'_> {
        let [height, width, channels] = self.frame;
        let columns = move |x: usize| {
            let left = x * self.stride[1];
            let first = self.padding[1].saturating_sub(left).min(self.kernel[1]);
            let end = (width + self.padding[1]).saturating_sub(left).min(self.kernel[1]);
            (first, (left + first).saturating_sub(self.padding[1]), end.saturating_sub(first))
        };
        (0..self.places()).flat_map(move |place| {
            let (y, x) = (place / self.grid[1], place % self.grid[1]);
            let (first, column, pixels) = columns(x);
            (0..self.kernel[0]).filter_map(move |ky| {
                let row = (y * self.stride[0] + ky).checked_sub(self.padding[0])?;
                let inside = row < height && pixels > 0;
                inside.then_some((place, ky, first, (row * width + column) * channels, pixels))
            })
        })
    }

    /// Gathers what the kernel sees of one frame, `[places, depth]`.
    pub(crate) fn gather(&self, frame: &[f32], order: PatchOrder, patches: &mut [f32]) {
        let (depth, channels) = (self.depth(), self.frame[2]);
        if self.padding != [0, 0] {
            patches.fill(0.0);
        }
        for (place, ky, kx, from, pixels) in self.runs() {
            let patch = &mut patches[place * depth..(place + 1) * depth];
            let tap = ky * self.kernel[1] + kx;
            let seen = &frame[from..from + pixels * channels];
            match order {
                PatchOrder::ChannelLast => {
                    patch[tap * channels..(tap + pixels) * channels].copy_from_slice(seen);
                }
                PatchOrder::ChannelFirst => {
                    let area = self.kernel[0] * self.kernel[1];
                    for (i, pixel) in seen.chunks_exact(channels).enumerate() {
                        let to = patch[tap + i..].iter_mut().step_by(area);
                        to.zip(pixel).for_each(|(to, from)| *to = *from);
                    }
                }
            }
        }
    }

    /// Adds patches, `[places, depth]`, to one frame: the transpose of [`gather`](Self::gather).
    pub(crate) fn scatter(&self, patches: &[f32], order: PatchOrder, frame: &mut [f32]) {
        let (depth, channels) = (self.depth(), self.frame[2]);
        for (place, ky, kx, begin, pixels) in self.runs() {
            let patch = &patches[place * depth..(place + 1) * depth];
            let tap = ky * self.kernel[1] + kx;
            let seen = &mut frame[begin..begin + pixels * channels];
            match order {
                PatchOrder::ChannelLast => {
                    let from = &patch[tap * channels..(tap + pixels) * channels];
                    seen.iter_mut().zip(from).for_each(|(to, from)| *to += from);
                }
                PatchOrder::ChannelFirst => {
                    let area = self.kernel[0] * self.kernel[1];
                    for (i, pixel) in seen.chunks_exact_mut(channels).enumerate() {
                        let from = patch[tap + i..].iter().step_by(area);
                        pixel.iter_mut().zip(from).for_each(|(to, from)| *to += from);
                    }
                }
            }
        }
    }
}
