//! A dreamt rollout beside the real one, as pictures.

use ndarray::{Array3, Array4, ArrayView2, ArrayView3, Axis, s};
use rl755_data::{FrameShape, encode_frame};

/// Pixels of a latent dimension at a time step.
const CELL: usize = 6;

/// Pixels between the parts of a picture.
const GAP: usize = 4;

/// Frames in a row.
const FRAMES: usize = 12;

/// A PNG picture.
pub(crate) struct Picture {
    /// Height and width in pixels.
    pub(crate) size: [usize; 2],
    pub(crate) png: Vec<u8>,
}

/// Latents `[steps, latent]` below one another, the real ones first, time from left to right: white
/// is 0, red positive, blue negative, full at the largest real value, and grey what is no number.
pub(crate) fn latents_picture(panels: &[ArrayView2<'_, f32>]) -> Option<Picture> {
    let real = panels.first()?;
    let scale = real.iter().fold(1e-6f32, |largest, v| largest.max(v.abs()));
    let (steps, latent) = real.dim();
    let (width, panel) = (steps * CELL, latent * CELL);
    let height = panels.len() * (panel + GAP) - GAP;
    let mut pixels = Array3::<u8>::zeros((height, width, 3));
    for (index, values) in panels.iter().enumerate() {
        let top = index * (panel + GAP);
        for ((step, dimension), value) in values.indexed_iter() {
            let (y, x) = (top + dimension * CELL, step * CELL);
            let color = ndarray::arr1(&color(value / scale));
            pixels.slice_mut(s![y..y + CELL, x..x + CELL, ..]).assign(&color);
        }
    }
    picture(pixels)
}

/// White at 0, red at 1, blue at -1, grey without a value.
fn color(value: f32) -> [u8; 3] {
    if value.is_nan() {
        return [128; 3];
    }
    let rest = (255.0 * (1.0 - value.abs()).clamp(0.0, 1.0)) as u8;
    if value >= 0.0 { [255, rest, rest] } else { [rest, rest, 255] }
}

/// Which of `steps` steps are shown as frames.
pub(crate) fn shown_steps(steps: usize) -> Vec<usize> {
    let count = FRAMES.min(steps);
    (0..count).map(|i| i * (steps - 1) / count.saturating_sub(1).max(1)).collect()
}

/// Real frames above dreamt ones, both `[n, height, width, channel]` with 1 or 3 channels.
pub(crate) fn frames_picture(real: &Array4<u8>, dreamt: &Array4<u8>) -> Option<Picture> {
    let (count, height, width, channels) = real.dim();
    if dreamt.dim() != real.dim() || ![1, 3].contains(&channels) {
        return None;
    }
    let size = (2 * height + GAP, count * (width + GAP) - GAP, 3);
    let mut pixels = Array3::<u8>::zeros(size);
    for (frames, y) in [(real, 0), (dreamt, height + GAP)] {
        for (index, frame) in frames.axis_iter(Axis(0)).enumerate() {
            let x = index * (width + GAP);
            let frame: ArrayView3<'_, u8> = frame;
            // A grey frame fills all three channels.
            if let Some(frame) = frame.broadcast((height, width, 3)) {
                pixels.slice_mut(s![y..y + height, x..x + width, ..]).assign(&frame);
            }
        }
    }
    picture(pixels)
}

fn picture(pixels: Array3<u8>) -> Option<Picture> {
    let (height, width, channels) = pixels.dim();
    if height == 0 || width == 0 {
        return None;
    }
    let shape = FrameShape { height, width, channels };
    let png = encode_frame(shape, pixels.as_slice()?).ok()?;
    Some(Picture { size: [height, width], png })
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use rl755_data::decode_frame;

    use super::*;

    fn pixels(picture: &Picture) -> Array3<u8> {
        let [height, width] = picture.size;
        let mut bytes = vec![0; height * width * 3];
        decode_frame(FrameShape { height, width, channels: 3 }, &picture.png, &mut bytes).unwrap();
        Array3::from_shape_vec((height, width, 3), bytes).unwrap()
    }

    #[test]
    fn latents_are_red_above_0_and_blue_below_and_grey_where_there_is_none() {
        let real = Array2::from_shape_vec((2, 1), vec![2.0, 0.0]).unwrap();
        let dreamt = Array2::from_shape_vec((2, 1), vec![-2.0, f32::NAN]).unwrap();
        let pixels = pixels(&latents_picture(&[real.view(), dreamt.view()]).unwrap());
        let at = |y: usize, x: usize| pixels.slice(s![y, x, ..]).to_vec();
        assert_eq!(pixels.dim(), (2 * CELL + GAP, 2 * CELL, 3));
        assert_eq!([at(0, 0), at(0, CELL)], [vec![255, 0, 0], vec![255, 255, 255]]);
        let bottom = CELL + GAP;
        assert_eq!([at(bottom, 0), at(bottom, CELL)], [vec![0, 0, 255], vec![128; 3]]);
    }

    #[test]
    fn real_frames_lie_above_dreamt_ones() {
        let (real, dreamt) =
            (Array4::from_elem((2, 3, 5, 1), 9), Array4::from_elem((2, 3, 5, 1), 7));
        let pixels = pixels(&frames_picture(&real, &dreamt).unwrap());
        assert_eq!(pixels.dim(), (6 + GAP, 10 + GAP, 3));
        assert_eq!([pixels[[0, 0, 2]], pixels[[3 + GAP, 5 + GAP, 0]]], [9, 7]);
    }

    #[test]
    fn shown_steps_go_from_the_first_to_the_last() {
        assert_eq!(shown_steps(1), [0]);
        assert_eq!(shown_steps(3), [0, 1, 2]);
        let many = shown_steps(60);
        assert_eq!((many.len(), many[0], many[11]), (12, 0, 59));
    }
}
