//! Random views of a frame: crops, colours and blur (Chen et al. 2020, appendix A).
//!
//! Views are made on the CPU in plain arithmetic from numbers that belong to the example, so that
//! they are the same on every device and however a batch is split.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{EncoderError, conv_settings::wrong};

/// Uniform numbers that a view takes.
pub(crate) const DRAWS: usize = 14;

/// How much red, green and blue weigh in grey: ITU-R 601, as TensorFlow, torchvision and the
/// paper's code have it.
const GREY: [f32; 3] = [0.2989, 0.587, 0.114];

/// How a frame is changed at random. In this order: crop and resize, flip, colours, grey, blur.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AugmentationSettings {
    /// Least and greatest share of the frame's area in a crop, which is resized to the whole
    /// frame, above 0 to 1. Its sides' ratio, compared with the frame's, is 3/4 to 4/3. The
    /// paper's is `[0.08, 1]`; a controller needs to know where things are, so the default leaves
    /// more: `[0.5, 1]`.
    pub crop_area: [f64; 2],
    /// How often a view is flipped left to right, 0 to 1. The paper's is 0.5; left and right are
    /// not the same to a controller, so the default is 0.
    pub flip_probability: f64,
    /// How often colours are changed, 0 to 1. Default 0.8, the paper's.
    pub color_probability: f64,
    /// How strongly, 0 to 2: brightness, contrast and saturation are changed by up to 0.8 times
    /// this, hue by up to 0.2 times this of the circle, in random order. Frames without three
    /// channels have brightness and contrast only. The paper's is 1, or 0.5 for small pictures.
    /// Default 0.5.
    pub color_strength: f64,
    /// How often a view loses its colours, 0 to 1. Default 0.2, the paper's.
    pub grayscale_probability: f64,
    /// How often a view is blurred, 0 to 1, by a Gaussian of 0.1 to 2 pixels that reaches a
    /// twentieth of the shorter side. Default 0.5, the paper's.
    pub blur_probability: f64,
}

impl Default for AugmentationSettings {
    fn default() -> Self {
        Self {
            crop_area: [0.5, 1.0],
            flip_probability: 0.0,
            color_probability: 0.8,
            color_strength: 0.5,
            grayscale_probability: 0.2,
            blur_probability: 0.5,
        }
    }
}

impl AugmentationSettings {
    pub(crate) fn check(&self, encoder: &str) -> Result<(), EncoderError> {
        let [least, most] = self.crop_area;
        if !(least > 0.0 && least <= most && most <= 1.0) {
            let reason = format!(
                "crop_area is [{least}, {most}]; it must be two rising numbers above 0, up to 1"
            );
            return Err(wrong(encoder, reason));
        }
        for (field, value, most) in [
            ("flip_probability", self.flip_probability, 1.0),
            ("color_probability", self.color_probability, 1.0),
            ("color_strength", self.color_strength, 2.0),
            ("grayscale_probability", self.grayscale_probability, 1.0),
            ("blur_probability", self.blur_probability, 1.0),
        ] {
            if !(0.0..=most).contains(&value) {
                let reason = format!("{field} is {value}; it must be from 0 to {most}");
                return Err(wrong(encoder, reason));
            }
        }
        Ok(())
    }

    /// Two views of each of the frames of `[height, width, channel]` in 0..=1: all first views,
    /// then all second ones. `draws` has [`DRAWS`] uniform numbers for each view, both views of a
    /// frame side by side.
    pub(crate) fn two_views(&self, shape: [usize; 3], frames: &[f32], draws: &[f32]) -> Vec<f32> {
        let width = shape.iter().product::<usize>();
        let count = frames.len() / width;
        let mut views = vec![0.0; 2 * frames.len()];
        views.par_chunks_mut(width).enumerate().for_each(|(index, view)| {
            let (second, frame) = (index / count, index % count);
            let draws = &draws[(2 * frame + second) * DRAWS..][..DRAWS];
            self.view(shape, &frames[frame * width..][..width], draws, view);
        });
        views
    }

    fn view(&self, shape: [usize; 3], frame: &[f32], draws: &[f32], view: &mut [f32]) {
        let &[area, ratio, top, left, flip, colour, order, ref factors @ .., grey, blur, sigma] =
            draws
        else {
            unreachable!("a view has its draws")
        };
        let happens = |draw: f32, probability: f64| f64::from(draw) < probability;
        let window = Window::random(self.crop_area, [area, ratio, top, left]);
        window.resample(shape, frame, happens(flip, self.flip_probability), view);
        let colours = shape[2] == 3;
        if happens(colour, self.color_probability) {
            let strength = self.color_strength as f32;
            let around = |draw: f32, most: f32| {
                let least = (1.0 - most).max(0.0);
                least + draw * (1.0 + most - least)
            };
            for change in permutation(order) {
                let draw = factors[change];
                match change {
                    0 => brighten(view, around(draw, 0.8 * strength)),
                    1 => contrast(view, shape[2], around(draw, 0.8 * strength)),
                    2 if colours => saturate(view, around(draw, 0.8 * strength)),
                    3 if colours => turn_hue(view, (2.0 * draw - 1.0) * 0.2 * strength),
                    _ => {}
                }
            }
        }
        if colours && happens(grey, self.grayscale_probability) {
            saturate(view, 0.0);
        }
        if happens(blur, self.blur_probability) {
            gaussian_blur(shape, view, 0.1 + 1.9 * sigma);
        }
    }
}

/// A part of a frame, in shares of its height and width.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Window {
    top: f32,
    left: f32,
    height: f32,
    width: f32,
}

impl Window {
    fn random([least, most]: [f64; 2], [area, ratio, top, left]: [f32; 4]) -> Self {
        let area = (least + f64::from(area) * (most - least)) as f32;
        // ln(3/4) to ln(4/3), evenly.
        let ratio = ((2.0 * ratio - 1.0) * (4.0f32 / 3.0).ln()).exp();
        let (height, width) = ((area / ratio).sqrt().min(1.0), (area * ratio).sqrt().min(1.0));
        Self { top: top * (1.0 - height), left: left * (1.0 - width), height, width }
    }

    /// Resizes this part of `frame` to the whole of `view`, blending the four nearest pixels.
    fn resample(self, shape: [usize; 3], frame: &[f32], flip: bool, view: &mut [f32]) {
        let [height, width, channels] = shape;
        let rows = places(self.top, self.height, height);
        let mut columns = places(self.left, self.width, width);
        if flip {
            columns.reverse();
        }
        for ((y, below), row) in rows.into_iter().zip(view.chunks_exact_mut(width * channels)) {
            let upper = &frame[y * width * channels..][..width * channels];
            let lower = &frame[(y + 1).min(height - 1) * width * channels..][..width * channels];
            for (&(x, right), pixel) in columns.iter().zip(row.chunks_exact_mut(channels)) {
                let (here, next) = (x * channels, (x + 1).min(width - 1) * channels);
                for (channel, value) in pixel.iter_mut().enumerate() {
                    let blend = |line: &[f32]| {
                        let (a, b) = (line[here + channel], line[next + channel]);
                        a + right * (b - a)
                    };
                    let (a, b) = (blend(upper), blend(lower));
                    *value = a + below * (b - a);
                }
            }
        }
    }
}

/// For each of `count` pixels that a part is resized to: the pixel at or before its centre, and how
/// far it is from there to the next.
fn places(begin: f32, extent: f32, count: usize) -> Vec<(usize, f32)> {
    let size = count as f32;
    let place = |index: usize| {
        let at = begin * size + (index as f32 + 0.5) * extent - 0.5;
        let at = at.clamp(0.0, size - 1.0);
        (at as usize, at.fract())
    };
    (0..count).map(place).collect()
}

/// The order of four things that a number in 0..1 stands for.
fn permutation(draw: f32) -> [usize; 4] {
    let mut code = ((draw * 24.0) as usize).min(23);
    let mut order = [0, 1, 2, 3];
    for place in 0..3 {
        let left = 4 - place;
        order[place..].rotate_left(code % left);
        code /= left;
    }
    order
}

fn brighten(view: &mut [f32], factor: f32) {
    view.iter_mut().for_each(|value| *value = (*value * factor).clamp(0.0, 1.0));
}

/// How bright a pixel is.
fn brightness(pixel: &[f32]) -> f32 {
    match *pixel {
        [red, green, blue] => GREY[0] * red + GREY[1] * green + GREY[2] * blue,
        _ => pixel.iter().sum::<f32>() / pixel.len() as f32,
    }
}

fn contrast(view: &mut [f32], channels: usize, factor: f32) {
    let pixels = view.len() / channels;
    let mean = view.chunks_exact(channels).map(brightness).sum::<f32>() / pixels as f32;
    view.iter_mut().for_each(|value| *value = (mean + factor * (*value - mean)).clamp(0.0, 1.0));
}

fn saturate(view: &mut [f32], factor: f32) {
    for pixel in view.chunks_exact_mut(3) {
        let grey = brightness(pixel);
        pixel.iter_mut().for_each(|v| *v = (grey + factor * (*v - grey)).clamp(0.0, 1.0));
    }
}

/// Turns the hue by a share of the circle, in hue, saturation and value.
fn turn_hue(view: &mut [f32], share: f32) {
    for pixel in view.chunks_exact_mut(3) {
        let [red, green, blue] = [pixel[0], pixel[1], pixel[2]];
        let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
        let chroma = most - least;
        if chroma == 0.0 {
            continue;
        }
        // In sixths of the circle.
        let hue = if most == red {
            (green - blue) / chroma
        } else if most == green {
            (blue - red) / chroma + 2.0
        } else {
            (red - green) / chroma + 4.0
        };
        let hue = (hue + 6.0 * share).rem_euclid(6.0);
        for (value, offset) in pixel.iter_mut().zip([5.0, 3.0, 1.0]) {
            let at = (offset + hue) % 6.0;
            *value = most - chroma * at.min(4.0 - at).clamp(0.0, 1.0);
        }
    }
}

/// Blurs along both axes; beyond the border is what is on it.
fn gaussian_blur([height, width, channels]: [usize; 3], view: &mut [f32], sigma: f32) {
    let radius = (height.min(width) / 20).max(1);
    let weight = |distance: usize| (-0.5 * (distance as f32 / sigma).powi(2)).exp();
    let weights: Vec<f32> = (0..=radius).map(weight).collect();
    let total = weights[0] + 2.0 * weights[1..].iter().sum::<f32>();
    let mut blurred = vec![0.0; view.len()];
    // Down, then across.
    for (count, step, lines) in
        [(height, width * channels, width * channels), (width, channels, channels)]
    {
        let blocks = view.chunks_exact(count * step).zip(blurred.chunks_exact_mut(count * step));
        for (from, to) in blocks {
            for (index, to) in to.chunks_exact_mut(step).enumerate() {
                let line = |at: usize| &from[at * step..][..lines];
                let centre = weights[0] / total;
                to.iter_mut().zip(line(index)).for_each(|(to, v)| *to = centre * v);
                for (distance, weight) in weights.iter().enumerate().skip(1) {
                    let weight = weight / total;
                    let before = line(index.saturating_sub(distance));
                    let after = line((index + distance).min(count - 1));
                    for ((to, a), b) in to.iter_mut().zip(before).zip(after) {
                        *to += weight * (a + b);
                    }
                }
            }
        }
        view.copy_from_slice(&blurred);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 2e-6, "{found} for {expected}");
        }
    }

    #[test]
    fn hues_turn_as_python_s_colorsys_has_it() {
        // colorsys.hsv_to_rgb((h + 0.1) % 1, s, v) of colorsys.rgb_to_hsv of each, Python 3.12.
        for (pixel, expected) in [
            ([0.2, 0.5, 0.8], [0.26, 0.2, 0.8]),
            ([0.9, 0.1, 0.3], [0.9, 0.38, 0.1]),
            ([0.4, 0.7, 0.1], [0.1, 0.7, 0.16]),
            ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
        ] {
            let mut turned = pixel;
            turn_hue(&mut turned, 0.1);
            near(&turned, &expected);
            turn_hue(&mut turned, -0.1);
            near(&turned, &pixel);
        }
    }

    #[test]
    fn orders_are_all_permutations_equally_often() {
        let mut orders: Vec<_> = (0..24).map(|i| permutation((i as f32 + 0.5) / 24.0)).collect();
        orders.sort_unstable();
        orders.dedup();
        assert_eq!(orders.len(), 24);
        assert_eq!(permutation(0.0), [0, 1, 2, 3]);
    }

    #[test]
    fn a_crop_of_the_whole_frame_is_the_frame_and_flips_turn_it_round() {
        let frame: Vec<f32> = (0..30).map(|i| i as f32 / 30.0).collect();
        let whole = Window { top: 0.0, left: 0.0, height: 1.0, width: 1.0 };
        let mut view = vec![0.0; 30];
        whole.resample([5, 3, 2], &frame, false, &mut view);
        near(&view, &frame);
        whole.resample([5, 3, 2], &frame, true, &mut view);
        near(&view[..6], &[4.0, 5.0, 2.0, 3.0, 0.0, 1.0].map(|v| v / 30.0));
    }

    #[test]
    fn crops_enlarge_their_part_by_blending() {
        // The left half of a ramp of four pixels.
        let half = Window { top: 0.0, left: 0.0, height: 1.0, width: 0.5 };
        let mut view = vec![0.0; 4];
        half.resample([1, 4, 1], &[0.0, 0.4, 0.8, 0.9], false, &mut view);
        near(&view, &[0.0, 0.1, 0.3, 0.5]);
        for draws in [[0.0; 4], [0.9, 0.99, 0.5, 0.99], [0.99, 0.0, 0.99, 0.3]] {
            let window = Window::random([0.08, 1.0], draws);
            assert!(window.top + window.height <= 1.0 + 1e-6);
            assert!(window.left + window.width <= 1.0 + 1e-6);
        }
        let window = Window::random([0.25, 0.25], [0.3, 0.5, 0.0, 1.0]);
        let expected = Window { top: 0.0, left: 0.5, height: 0.5, width: 0.5 };
        near(
            &[window.top, window.left, window.height, window.width],
            &[expected.top, expected.left, expected.height, expected.width],
        );
    }

    #[test]
    fn colours_change_as_defined() {
        let mut view = vec![0.2, 0.4, 0.6, 1.0, 0.0, 0.5];
        brighten(&mut view, 1.5);
        near(&view, &[0.3, 0.6, 0.9, 1.0, 0.0, 0.75]);
        let grey = |p: &[f32]| 0.2989 * p[0] + 0.587 * p[1] + 0.114 * p[2];
        let expected: Vec<f32> = view
            .chunks(3)
            .flat_map(|p| p.iter().map(|v| 0.5 * v + 0.5 * grey(p)).collect::<Vec<_>>())
            .collect();
        let mut saturated = view.clone();
        saturate(&mut saturated, 0.5);
        near(&saturated, &expected);
        let mean = (grey(&view[..3]) + grey(&view[3..])) / 2.0;
        let expected: Vec<f32> =
            view.iter().map(|v| (0.5 * v + 0.5 * mean).clamp(0.0, 1.0)).collect();
        contrast(&mut view, 3, 0.5);
        near(&view, &expected);
    }

    #[test]
    fn a_blurred_point_is_a_gaussian_and_even_frames_stay() {
        let (height, width) = (21, 25);
        let mut view = vec![0.0; height * width];
        view[10 * width + 12] = 1.0;
        gaussian_blur([height, width, 1], &mut view, 0.8);
        let weight = |d: f32| (-0.5 * (d / 0.8).powi(2)).exp();
        let total = weight(0.0) + 2.0 * weight(1.0);
        near(&[view[10 * width + 12]], &[(weight(0.0) / total).powi(2)]);
        near(&[view[9 * width + 13]], &[(weight(1.0) / total).powi(2)]);
        assert!((view.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let mut even = vec![0.3; 2 * 3 * 3];
        gaussian_blur([2, 3, 3], &mut even, 2.0);
        near(&even, &[0.3; 18]);
    }

    #[test]
    fn views_of_a_frame_depend_on_its_draws_alone() {
        let settings = AugmentationSettings::default();
        let shape = [8, 6, 3];
        let frames: Vec<f32> = (0..3 * 144).map(|i| (i * 37 % 101) as f32 / 100.0).collect();
        let draws: Vec<f32> = (0..3 * 2 * DRAWS).map(|i| (i * 61 % 97) as f32 / 97.0).collect();
        let all = settings.two_views(shape, &frames, &draws);
        let second = settings.two_views(shape, &frames[144..288], &draws[2 * DRAWS..4 * DRAWS]);
        assert!(second[..144] == all[144..288] && second[144..] == all[4 * 144..5 * 144]);
        assert!(second[..144] != second[144..]);
        assert!(all.iter().all(|value| (0.0..=1.0).contains(value)));
    }
}
