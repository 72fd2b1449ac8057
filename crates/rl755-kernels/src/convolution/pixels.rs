//! What is done with each number of a pixel: biases, activations, and their gradients.

use std::borrow::Cow;

use rayon::prelude::*;

use super::Activation;
use crate::simd::vectorized;

/// Numbers of one piece of work over plain slices, about.
const PIECE: usize = 1 << 15;

/// Numbers that are added side by side, at least.
const WIDE: usize = 48;

/// The bias, as often as fills some vectors: a pixel may have 3 channels only.
pub(crate) fn repeated(bias: &[f32]) -> Vec<f32> {
    bias.repeat(WIDE.div_ceil(bias.len()))
}

/// Sets each pixel to the bias, which is [`repeated`]; to 0 where there is none.
#[inline(always)]
pub(crate) fn set_bias(bias: Option<&[f32]>, pixels: &mut [f32]) {
    match bias {
        None => pixels.fill(0.0),
        Some(bias) => pixels
            .chunks_mut(bias.len())
            .for_each(|pixels| pixels.iter_mut().zip(bias).for_each(|(to, bias)| *to = *bias)),
    }
}

/// Adds the bias, which is [`repeated`], to each pixel.
#[inline(always)]
pub(crate) fn add_bias(bias: Option<&[f32]>, pixels: &mut [f32]) {
    let Some(bias) = bias else { return };
    for pixels in pixels.chunks_mut(bias.len()) {
        pixels.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
    }
}

#[inline(always)]
pub(crate) fn activate(activation: Activation, values: &mut [f32]) {
    if activation == Activation::Relu {
        // Not `max`, which makes a 0 of what is no number.
        values.iter_mut().for_each(|value| *value = if *value < 0.0 { 0.0 } else { *value });
    }
}

/// The gradient of what the activation was given, from that of the `output`: in `scratch`, or as it
/// is.
#[inline(always)]
pub(crate) fn before<'a>(
    activation: Activation,
    output: &[f32],
    gradient: &'a [f32],
    scratch: &'a mut Vec<f32>,
) -> &'a [f32] {
    match activation {
        Activation::None => gradient,
        Activation::Relu => {
            scratch.resize(gradient.len(), 0.0);
            pass(output, gradient, scratch);
            scratch
        }
    }
}

#[inline(always)]
fn pass(output: &[f32], gradient: &[f32], passed: &mut [f32]) {
    for ((to, from), output) in passed.iter_mut().zip(gradient).zip(output) {
        *to = if *output > 0.0 { *from } else { 0.0 };
    }
}

/// As [`before`], for everything, by all threads.
pub(crate) fn all_before<'a>(
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
                vectorized(
                    #[inline(always)]
                    || pass(output, gradient, passed),
                );
            });
            Cow::Owned(passed)
        }
    }
}

/// The sum over all pixels, of `channels` numbers each.
#[inline(always)]
pub(crate) fn sum(pixels: &[f32], channels: usize) -> Vec<f32> {
    let width = WIDE.div_ceil(channels) * channels;
    let mut wide = vec![0.0; width];
    for pixels in pixels.chunks(width) {
        wide.iter_mut().zip(pixels).for_each(|(sum, value)| *sum += value);
    }
    let mut sums = vec![0.0; channels];
    for part in wide.chunks_exact(channels) {
        sums.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// As [`sum`], by all threads in pieces of a fixed size.
pub(crate) fn par_sum(pixels: &[f32], channels: usize) -> Vec<f32> {
    let piece = PIECE.div_ceil(channels) * channels;
    let sums = pixels.par_chunks(piece).map(|pixels| {
        vectorized(
            #[inline(always)]
            || sum(pixels, channels),
        )
    });
    sum(&sums.collect::<Vec<_>>().concat(), channels)
}
