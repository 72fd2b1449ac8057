//! Pictures as browsers read them.

use rl755_env::RgbFrame;

/// Pictures of at most so many pixels are kept exactly; they are small, and people see each pixel.
const EXACT: usize = 128 * 128;
/// Of larger ones, as JPEG and WebP count it.
const QUALITY: f32 = 90.0;
/// WebP has no larger sides.
const LONGEST_SIDE: usize = 16_383;

/// As WebP. `None` from a frame that cannot be one.
pub(super) fn webp(frame: &RgbFrame) -> Option<Vec<u8>> {
    let (height, width) = (frame.height, frame.width);
    let fits = |side: usize| (1..=LONGEST_SIDE).contains(&side);
    if !fits(height) || !fits(width) || frame.pixels.len() != 3 * height * width {
        return None;
    }
    let encoder = webp::Encoder::from_rgb(
        &frame.pixels,
        u32::try_from(width).ok()?,
        u32::try_from(height).ok()?,
    );
    let exact = height * width <= EXACT;
    encoder.encode_simple(exact, QUALITY).ok().map(|bytes| bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(frame: &RgbFrame) -> Vec<u8> {
        let bytes = webp(frame).unwrap();
        webp::Decoder::new(&bytes).decode().unwrap().to_vec()
    }

    #[test]
    fn small_frames_keep_each_pixel_and_large_ones_nearly() {
        let mut random = rl755_run::Random::new(1);
        let pixels = (0..3 * 64 * 48).map(|_| random.bits() as u8).collect();
        let frame = RgbFrame { height: 64, width: 48, pixels };
        assert_eq!(decoded(&frame), frame.pixels);
        let frame = RgbFrame::filled(400, 600, [200, 30, 90]);
        let error = decoded(&frame).iter().zip(&frame.pixels).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(error.unwrap() <= 4, "{error:?}");
    }

    #[test]
    fn frames_that_are_none_give_none() {
        for (height, width, len) in [(0, 5, 0), (5, 0, 0), (2, 2, 11), (1, 16_384, 49_152)] {
            assert_eq!(webp(&RgbFrame { height, width, pixels: vec![0; len] }), None);
        }
    }
}
