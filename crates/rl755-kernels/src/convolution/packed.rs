//! A convolution with its weights in place, for frames that are encoded without tensors.

use super::{ConvOptions, check, direct::Direct, geometry::Geometry, seen_by};

/// A convolution of frames of one size, on the calling thread.
///
/// The result for a frame has the same bits whatever is convolved with it.
#[derive(Clone, Debug)]
pub struct PackedConvolution {
    geometry: Geometry,
    layer: Direct,
    to: usize,
}

impl PackedConvolution {
    /// For frames of the height, width and channels `frame`. `weight` is
    /// `[to, channels, kernel height, kernel width]` with the dimensions `shape`, and `bias` `[to]`.
    ///
    /// # Panics
    /// When the shapes do not fit, a stride is 0, or the kernel is larger than the padded frame.
    pub fn new(
        frame: [usize; 3],
        (shape, weight): ([usize; 4], &[f32]),
        bias: Option<&[f32]>,
        options: ConvOptions,
    ) -> Self {
        let [to, from, height, width] = shape;
        assert_eq!(from, frame[2], "channels of the frames and of the weights");
        assert_eq!(weight.len(), shape.iter().product::<usize>(), "weights of {shape:?}");
        assert!(bias.is_none_or(|bias| bias.len() == to), "a bias for each channel");
        check(&options, [height, width], frame, to);
        let geometry = seen_by([height, width], frame, &options);
        Self { geometry, layer: Direct::new(geometry, weight, bias, options.activation), to }
    }

    /// Height, width and channels of what comes out.
    pub fn output(&self) -> [usize; 3] {
        let [height, width] = self.geometry.grid;
        [height, width, self.to]
    }

    /// Convolves whole frames `[height, width, channel]`, one after another, into `output`.
    ///
    /// # Panics
    /// When the lengths do not fit.
    pub fn forward(&self, frames: &[f32], output: &mut Vec<f32>) {
        let (width, to) = (self.geometry.width(), self.layer.output());
        let batch = frames.len() / width;
        assert_eq!(frames.len(), batch * width, "whole frames of {width} numbers");
        output.resize(batch * to, 0.0);
        let piece = self.layer.at_once();
        let pieces = output.chunks_mut(piece * to).zip(frames.chunks(piece * width));
        pieces.for_each(|(output, frames)| self.layer.convolve(frames, output));
    }
}
