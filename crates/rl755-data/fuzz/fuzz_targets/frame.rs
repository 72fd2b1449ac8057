//! Any bytes as a picture, and as the pixels of one; the `png` crate is the judge.

#![no_main]

use std::io::Cursor;

use rl755_data::{FrameShape, check_frame, decode_frame, encode_frame};

/// The most memory that reading a picture of `bytes` takes beside its pixels.
fn most_memory(bytes: usize) -> usize {
    (256 << 10) + 8 * bytes
}

/// The shape that the bytes of a picture claim, within reason.
fn claimed_shape(bytes: &[u8]) -> FrameShape {
    let side = |at: usize| {
        let number = bytes.get(at..at + 4).map_or(0, |bytes| {
            bytes.iter().fold(0, |number, &byte| number << 8 | usize::from(byte))
        });
        if (1..=128).contains(&number) { number } else { 1 + number % 16 }
    };
    let channels = match bytes.get(25) {
        Some(0) => 1,
        Some(4) => 2,
        Some(6) => 4,
        _ => 3,
    };
    FrameShape { height: side(20), width: side(16), channels }
}

/// The pixels as the `png` crate reads them, if the picture is as our frames are.
fn judge(shape: FrameShape, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut options = png::DecodeOptions::default();
    options.set_ignore_crc(true);
    let decoder = png::Decoder::new_with_options(Cursor::new(bytes), options);
    let mut reader = decoder.read_info().ok()?;
    let info = reader.info();
    let found = FrameShape {
        height: info.height as usize,
        width: info.width as usize,
        channels: info.color_type.samples(),
    };
    let ours = info.bit_depth == png::BitDepth::Eight
        && info.color_type != png::ColorType::Indexed
        && found == shape;
    let mut pixels = vec![0; shape.bytes()];
    (ours && reader.next_frame(&mut pixels).is_ok()).then_some(pixels)
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let shape = claimed_shape(input);
    let mut pixels = vec![0; shape.bytes()];
    rl755_data_fuzz::within(most_memory(input.len()), || drop(check_frame(shape, input)));
    let mut read = Ok(());
    rl755_data_fuzz::within(most_memory(input.len()), || {
        read = decode_frame(shape, input, &mut pixels)
    });
    // Ours may refuse what the judge lets pass, such as more pixels than there should be.
    if read.is_ok() {
        assert_eq!(judge(shape, input), Some(pixels.clone()));
    }

    // As pixels: the last bytes, again and again.
    let frame: Vec<u8> =
        input.iter().rev().copied().chain([0]).cycle().take(shape.bytes()).collect();
    let stored = encode_frame(shape, &frame).expect("every shape here can be stored");
    assert!(check_frame(shape, &stored).is_ok());
    decode_frame(shape, &stored, &mut pixels).expect("what was stored can be read");
    assert_eq!(pixels, frame);
    assert_eq!(judge(shape, &stored), Some(frame));
});
