//! Frames as PNG, read and written by the `png` crate as well.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Cursor;

use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Filter};
use rl755_data::{FrameError, FrameShape, check_frame, decode_frame, encode_frame};

const fn shape(height: usize, width: usize, channels: usize) -> FrameShape {
    FrameShape { height, width, channels }
}

fn color(shape: FrameShape) -> ColorType {
    use ColorType::{Grayscale, GrayscaleAlpha, Rgb, Rgba};
    [Grayscale, GrayscaleAlpha, Rgb, Rgba][shape.channels - 1]
}

/// Frames of every kind: areas of one colour, a repeated pattern, a gradient, noise.
fn frames(shape: FrameShape) -> Vec<Vec<u8>> {
    let (row, mut state) = (shape.width * shape.channels, 1u32);
    let mut noise = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let all = || 0..shape.bytes();
    vec![
        all().map(|i| if (i / row / 8 + i % row / 24) % 2 == 0 { 30 } else { 200 }).collect(),
        all().map(|i| (i % 7 * 31) as u8).collect(),
        all().map(|i| (i / row + i % row / shape.channels) as u8).collect(),
        all().map(&mut noise).collect(),
        all().map(|i| if i % 11 == 0 { noise(0) } else { 9 }).collect(),
        vec![0; shape.bytes()],
    ]
}

fn written_by_png(shape: FrameShape, frame: &[u8], filter: Filter, how: Compression) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, shape.width as u32, shape.height as u32);
    encoder.set_color(color(shape));
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(how);
    encoder.set_filter(filter);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(frame).unwrap();
    writer.finish().unwrap();
    bytes
}

/// One pixel, one row, one column; sizes on both sides of the window of 32 KB and of a block.
const SHAPES: [FrameShape; 8] = [
    shape(1, 1, 1),
    shape(1, 40, 2),
    shape(40, 1, 4),
    shape(5, 7, 3),
    shape(96, 96, 3),
    shape(64, 64, 1),
    shape(130, 257, 4),
    shape(3, 20_000, 3),
];

#[test]
fn the_png_crate_reads_what_we_write() {
    for shape in SHAPES {
        for frame in frames(shape) {
            let bytes = encode_frame(shape, &frame).unwrap();
            // It checks every checksum.
            let mut reader = Decoder::new(Cursor::new(&bytes)).read_info().unwrap();
            let mut decoded = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut decoded).unwrap();
            assert_eq!((info.color_type, info.bit_depth), (color(shape), BitDepth::Eight));
            assert!(decoded == frame, "{shape:?}");
            let mut ours = vec![0; frame.len()];
            check_frame(shape, &bytes).unwrap();
            decode_frame(shape, &bytes, &mut ours).unwrap();
            assert!(ours == frame, "{shape:?}");
        }
    }
}

#[test]
fn we_read_what_the_png_crate_writes() {
    let filters =
        [Filter::NoFilter, Filter::Sub, Filter::Up, Filter::Avg, Filter::Paeth, Filter::Adaptive];
    for shape in SHAPES {
        for frame in frames(shape) {
            for filter in filters {
                let bytes = written_by_png(shape, &frame, filter, Compression::Balanced);
                let mut decoded = vec![0; frame.len()];
                check_frame(shape, &bytes).unwrap();
                decode_frame(shape, &bytes, &mut decoded).unwrap();
                assert!(decoded == frame, "{shape:?} {filter:?}");
            }
        }
    }
}

#[test]
fn frames_are_about_as_small_as_the_png_crate_makes_them() {
    let shape = shape(96, 96, 3);
    for frame in frames(shape) {
        let ours = encode_frame(shape, &frame).unwrap().len();
        let png = written_by_png(shape, &frame, Filter::Adaptive, Compression::Fast).len();
        assert!(ours <= png + png / 8 + 64, "{ours} and {png} bytes");
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_found() {
    let shape = shape(5, 7, 3);
    let frame = &frames(shape)[4];
    let bytes = encode_frame(shape, frame).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(check_frame(shape, &damaged).is_err(), "bit {bit}");
        // Never a panic; and never other pixels, as these have a checksum of their own.
        let mut decoded = vec![0; frame.len()];
        let sound = decode_frame(shape, &damaged, &mut decoded).is_ok();
        assert!(!sound || decoded == *frame, "bit {bit}");
    }
    for length in 0..bytes.len() {
        assert!(check_frame(shape, &bytes[..length]).is_err(), "{length} bytes");
    }
    let longer = [&bytes[..], b"x"].concat();
    let error = check_frame(shape, &longer).unwrap_err().to_string();
    assert_eq!(error, "not a PNG picture: 1 bytes follow its end");
}

#[test]
fn other_pictures_are_refused() {
    let (shape, other) = (shape(7, 5, 3), shape(5, 7, 3));
    let bytes = encode_frame(shape, &frames(shape)[0]).unwrap();
    let error = check_frame(other, &bytes).unwrap_err().to_string();
    assert_eq!(error, "a picture of 7x5x3, where 5x7x3 is needed");
    assert!(matches!(check_frame(shape, b"GIF89a"), Err(FrameError::NotPng { .. })));
    let five = FrameShape { channels: 5, ..shape };
    assert_eq!(
        encode_frame(five, &vec![0; five.bytes()]),
        Err(FrameError::Channels { channels: 5 })
    );
    let mut indexed = Vec::new();
    let mut encoder = Encoder::new(&mut indexed, 5, 7);
    encoder.set_color(ColorType::Indexed);
    encoder.set_palette(vec![0; 6]);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[1; 35]).unwrap();
    writer.finish().unwrap();
    let grey = FrameShape { channels: 1, ..shape };
    let error = check_frame(grey, &indexed).unwrap_err().to_string();
    assert_eq!(error, "a picture of 7x5x1 (indexed), where 7x5x1 is needed");
}
