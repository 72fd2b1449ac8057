//! A picture of frames beside their reconstructions.

use rl755_data::{FrameError, FrameShape, encode_frame};
use rl755_env::Space;

use crate::input_form::byte;

/// Frames in a row of the picture.
const COLUMNS: usize = 8;

/// Frames in the picture at most.
pub(crate) const FRAMES: usize = 16;

/// A PNG picture and its size.
pub(crate) struct Picture {
    /// Height and width.
    pub(crate) size: [usize; 2],
    pub(crate) png: Vec<u8>,
}

/// Rows of frames, each above the row of their reconstructions. Both are whole frames of the
/// image space `input`, in 0..=1, one after another. Of frames that are neither grey nor coloured, such
/// as stacks, the last three channels are shown, or the last one. `None` for other spaces and without
/// frames.
pub(crate) fn side_by_side(
    input: &Space,
    frames: &[f32],
    reconstructions: &[f32],
) -> Result<Option<Picture>, FrameError> {
    let Space::Image { height, width, channels } = *input else { return Ok(None) };
    let each = height * width * channels;
    let count = frames.len() / each;
    if count == 0 {
        return Ok(None);
    }
    let columns = count.min(COLUMNS);
    let size = [count.div_ceil(columns) * 2 * height, columns * width];
    let shown = if channels.is_multiple_of(3) { 3 } else { 1 };
    let line = size[1] * shown;
    let mut pixels = vec![0; size[0] * line];
    let mut paint = |values: &[f32], below: usize| {
        for (index, frame) in values.chunks_exact(each).enumerate() {
            let top = (index / columns * 2 + below) * height;
            let left = index % columns * width * shown;
            for (y, row) in frame.chunks_exact(width * channels).enumerate() {
                let to = &mut pixels[(top + y) * line + left..][..width * shown];
                for (to, pixel) in to.chunks_exact_mut(shown).zip(row.chunks_exact(channels)) {
                    let last = &pixel[channels - shown..];
                    to.iter_mut().zip(last).for_each(|(to, &value)| *to = byte(value));
                }
            }
        }
    };
    paint(frames, 0);
    paint(reconstructions, 1);
    let shape = FrameShape { height: size[0], width: size[1], channels: shown };
    let png = encode_frame(shape, &pixels)?;
    Ok(Some(Picture { size, png }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_stacked_frames_the_last_is_shown() {
        let shown = |channels: usize| {
            let input = Space::Image { height: 1, width: 1, channels };
            let frame: Vec<f32> = (0..channels).map(|i| i as f32 / 255.0).collect();
            let picture = side_by_side(&input, &frame, &frame).unwrap().unwrap();
            let colours = if channels.is_multiple_of(3) { 3 } else { 1 };
            let shape = FrameShape { height: 2, width: 1, channels: colours };
            let mut pixels = vec![0; shape.bytes()];
            rl755_data::decode_frame(shape, &picture.png, &mut pixels).unwrap();
            pixels[..colours].to_vec()
        };
        assert_eq!((shown(4), shown(2), shown(9)), (vec![3], vec![1], vec![6, 7, 8]));
    }

    #[test]
    fn reconstructions_are_below_their_frames() {
        let input = Space::Image { height: 1, width: 2, channels: 1 };
        let frames: Vec<f32> = (0..18).map(|i| i as f32 / 255.0).collect();
        let others: Vec<f32> = (0..18).map(|i| (100 + i) as f32 / 255.0).collect();
        let picture = side_by_side(&input, &frames, &others).unwrap().unwrap();
        assert_eq!(picture.size, [4, 16]);
        let shape = FrameShape { height: 4, width: 16, channels: 1 };
        let mut pixels = vec![0; shape.bytes()];
        rl755_data::decode_frame(shape, &picture.png, &mut pixels).unwrap();
        let expected: Vec<u8> = (0..16).chain(100..116).collect();
        assert_eq!(pixels[..32], expected);
        assert_eq!(
            (pixels[32..34].to_vec(), pixels[48..50].to_vec()),
            (vec![16, 17], vec![116, 117])
        );
    }
}
