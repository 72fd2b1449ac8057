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

    /// The same with the padding as part of the frames.
    pub(crate) fn padded(&self) -> Self {
        let [height, width, channels] = self.frame;
        let [above, beside] = self.padding;
        Self { frame: [height + 2 * above, width + 2 * beside, channels], padding: [0, 0], ..*self }
    }

    /// Frames with their padding, one after another.
    pub(crate) fn pad(&self, frames: &[f32], padded: &mut Vec<f32>) {
        let [_, width, channels] = self.frame;
        let (line, whole) = (width * channels, self.padded());
        padded.clear();
        padded.resize(frames.len() / self.width() * whole.width(), 0.0);
        let first = (self.padding[0] * whole.frame[1] + self.padding[1]) * channels;
        let each = padded.chunks_exact_mut(whole.width()).zip(frames.chunks_exact(self.width()));
        for (padded, frame) in each {
            let lines = padded[first..].chunks_mut(whole.frame[1] * channels);
            lines.zip(frame.chunks_exact(line)).for_each(|(to, from)| {
                to[..line].copy_from_slice(from);
            });
        }
    }

    /// Where in a frame without padding the kernel begins at each place.
    pub(crate) fn begins(&self) -> impl Iterator<Item = usize> {
        let Self { frame: [_, width, channels], grid: [rows, columns], stride, .. } = *self;
        (0..rows).flat_map(move |y| {
            (0..columns).map(move |x| (y * stride[0] * width + x * stride[1]) * channels)
        })
    }

    /// The part of a kernel of `kernel` pixels that is inside `size` pixels when the kernel begins
    /// at `begin` of the padded ones: its first pixel, the one it falls on, and how many there are.
    #[inline(always)]
    fn inside(begin: usize, padding: usize, kernel: usize, size: usize) -> [usize; 3] {
        let first = padding.saturating_sub(begin).min(kernel);
        let end = (size + padding).saturating_sub(begin).min(kernel);
        [first, (begin + first).saturating_sub(padding), end.saturating_sub(first)]
    }

    /// Calls `visit` with each row of a kernel at each place, as far as it is within the frame:
    /// where it begins in the patches, `[places, tap, channel]`, as an offset of the patch and the
    /// number of the tap, where in the frame, and how many pixels it has.
    #[inline(always)]
    fn for_each_run(&self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        let [height, width, channels] = self.frame;
        let depth = self.depth();
        for y in 0..self.grid[0] {
            let [first_ky, row, rows] =
                Self::inside(y * self.stride[0], self.padding[0], self.kernel[0], height);
            for x in 0..self.grid[1] {
                let [first_kx, column, pixels] =
                    Self::inside(x * self.stride[1], self.padding[1], self.kernel[1], width);
                if pixels == 0 {
                    continue;
                }
                let patch = (y * self.grid[1] + x) * depth;
                for i in 0..rows {
                    let tap = (first_ky + i) * self.kernel[1] + first_kx;
                    visit(patch, tap, ((row + i) * width + column) * channels, pixels);
                }
            }
        }
    }

    /// Gathers what the kernel sees of one frame, `[places, depth]`.
    #[inline(always)]
    pub(crate) fn gather(&self, frame: &[f32], order: PatchOrder, patches: &mut [f32]) {
        let channels = self.frame[2];
        if self.padding != [0, 0] {
            patches.fill(0.0);
        }
        match order {
            PatchOrder::ChannelLast => self.for_each_run(|patch, tap, from, pixels| {
                let (to, len) = (patch + tap * channels, pixels * channels);
                patches[to..to + len].copy_from_slice(&frame[from..from + len]);
            }),
            PatchOrder::ChannelFirst => self.for_each_run(|patch, tap, from, pixels| {
                let area = self.kernel[0] * self.kernel[1];
                let seen = frame[from..from + pixels * channels].chunks_exact(channels);
                for (i, pixel) in seen.enumerate() {
                    let to = patches[patch + tap + i..].iter_mut().step_by(area);
                    to.zip(pixel).for_each(|(to, from)| *to = *from);
                }
            }),
        }
    }

    /// Adds patches, `[places, depth]`, to one frame: the transpose of [`gather`](Self::gather).
    #[inline(always)]
    pub(crate) fn scatter(&self, patches: &[f32], order: PatchOrder, frame: &mut [f32]) {
        let channels = self.frame[2];
        match order {
            PatchOrder::ChannelLast => self.for_each_run(|patch, tap, to, pixels| {
                let (from, len) = (patch + tap * channels, pixels * channels);
                let seen = frame[to..to + len].iter_mut();
                seen.zip(&patches[from..from + len]).for_each(|(to, from)| *to += from);
            }),
            PatchOrder::ChannelFirst => self.for_each_run(|patch, tap, to, pixels| {
                let area = self.kernel[0] * self.kernel[1];
                let seen = frame[to..to + pixels * channels].chunks_exact_mut(channels);
                for (i, pixel) in seen.enumerate() {
                    let from = patches[patch + tap + i..].iter().step_by(area);
                    pixel.iter_mut().zip(from).for_each(|(to, from)| *to += from);
                }
            }),
        }
    }
}
