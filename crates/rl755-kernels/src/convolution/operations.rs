//! Convolutions and transposed convolutions with their gradients: both are made of the same three
//! [passes](super::passes).

use std::borrow::Cow;

use rayon::prelude::*;

use super::{Activation, geometry::Geometry, passes::Passes};
use crate::{Operation, View};

/// Numbers of one piece of work over plain slices, about.
const PIECE: usize = 1 << 15;

/// A convolution. Inputs: frames, weights, bias.
#[derive(Debug)]
pub(crate) struct Convolution {
    pub(crate) geometry: Geometry,
    pub(crate) has_bias: bool,
    pub(crate) activation: Activation,
}

impl Operation<3> for Convolution {
    type Saved = ();

    fn forward(&self, [x, weight, bias]: [View<'_>; 3]) -> (Vec<usize>, Vec<f32>, ()) {
        let (batch, n) = (x.shape[0], weight.shape[0]);
        let passes = Passes { geometry: self.geometry, batch, n };
        let grid = passes.look(x.values, weight.values, |grid| {
            if self.has_bias {
                add_bias(bias.values, grid);
            }
            activate(self.activation, grid);
        });
        let [height, width] = self.geometry.grid;
        (vec![batch, height, width, n], grid, ())
    }

    fn backward(
        &self,
        [x, weight, bias]: [View<'_>; 3],
        output: View<'_>,
        (): &(),
        gradient: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Vec<f32>>; 3] {
        let (batch, n) = (x.shape[0], weight.shape[0]);
        let passes = Passes { geometry: self.geometry, batch, n };
        let gradient = before_activation(self.activation, output.values, gradient.values);
        [
            wanted[0].then(|| passes.paint(&gradient, weight.values, |_| (), |_| ())),
            wanted[1].then(|| passes.compare(x.values, &gradient)),
            wanted[2].then(|| bias_gradient(self.has_bias, &gradient, bias)),
        ]
    }
}

/// A transposed convolution. Inputs: numbers at each place, weights, bias.
#[derive(Debug)]
pub(crate) struct Transposed {
    pub(crate) geometry: Geometry,
    pub(crate) has_bias: bool,
    pub(crate) activation: Activation,
}

impl Operation<3> for Transposed {
    type Saved = ();

    fn forward(&self, [x, weight, bias]: [View<'_>; 3]) -> (Vec<usize>, Vec<f32>, ()) {
        let (batch, n) = (x.shape[0], weight.shape[0]);
        let passes = Passes { geometry: self.geometry, batch, n };
        let begin = |frame: &mut [f32]| {
            if self.has_bias {
                add_bias(bias.values, frame);
            }
        };
        let finish = |frame: &mut [f32]| activate(self.activation, frame);
        let frames = passes.paint(x.values, weight.values, begin, finish);
        let [height, width, channels] = self.geometry.frame;
        (vec![batch, height, width, channels], frames, ())
    }

    fn backward(
        &self,
        [x, weight, bias]: [View<'_>; 3],
        output: View<'_>,
        (): &(),
        gradient: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Vec<f32>>; 3] {
        let (batch, n) = (x.shape[0], weight.shape[0]);
        let passes = Passes { geometry: self.geometry, batch, n };
        let gradient = before_activation(self.activation, output.values, gradient.values);
        [
            wanted[0].then(|| passes.look(&gradient, weight.values, |_| ())),
            wanted[1].then(|| passes.compare(&gradient, x.values)),
            wanted[2].then(|| bias_gradient(self.has_bias, &gradient, bias)),
        ]
    }
}

/// Adds the bias to each pixel.
fn add_bias(bias: &[f32], pixels: &mut [f32]) {
    for pixel in pixels.chunks_exact_mut(bias.len()) {
        pixel.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
    }
}

fn activate(activation: Activation, values: &mut [f32]) {
    if activation == Activation::Relu {
        // Not `max`, which makes a 0 of what is no number.
        values.iter_mut().for_each(|value| *value = if *value < 0.0 { 0.0 } else { *value });
    }
}

/// The gradient of what the activation was given.
fn before_activation<'a>(
    activation: Activation,
    output: &[f32],
    gradient: &'a [f32],
) -> Cow<'a, [f32]> {
    match activation {
        Activation::None => Cow::Borrowed(gradient),
        Activation::Relu => {
            let mut passed = vec![0.0; gradient.len()];
            let each = passed.par_chunks_mut(PIECE).zip(gradient.par_chunks(PIECE));
            each.zip(output.par_chunks(PIECE)).for_each(|((passed, gradient), output)| {
                for ((to, from), output) in passed.iter_mut().zip(gradient).zip(output) {
                    *to = if *output > 0.0 { *from } else { 0.0 };
                }
            });
            Cow::Owned(passed)
        }
    }
}

/// The sum over all pixels, in pieces of a fixed size.
fn bias_gradient(has_bias: bool, gradient: &[f32], bias: View<'_>) -> Vec<f32> {
    let channels = bias.values.len();
    if !has_bias {
        return vec![0.0; channels];
    }
    let sum = |pixels: &[f32]| {
        let mut sums = vec![0.0; channels];
        for pixel in pixels.chunks_exact(channels) {
            sums.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += value);
        }
        sums
    };
    let piece = PIECE.div_ceil(channels) * channels;
    let pieces: Vec<Vec<f32>> = gradient.par_chunks(piece).map(sum).collect();
    sum(&pieces.concat())
}
