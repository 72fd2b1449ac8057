//! VP8 key frames, through libwebp.

/// How good frames look, from 0 to 100.
const QUALITY: f32 = 85.0;

/// Encodes `rgb`, `[height, width, 3]`, as a VP8 key frame.
pub(crate) fn key_frame(rgb: &[u8], height: usize, width: usize) -> Result<Vec<u8>, String> {
    let side = |side: usize| u32::try_from(side).map_err(|_| format!("{side} pixels are too many"));
    let encoder = webp::Encoder::from_rgb(rgb, side(width)?, side(height)?);
    let picture = encoder.encode_simple(false, QUALITY).map_err(|error| format!("{error:?}"))?;
    chunk(&picture, b"VP8 ").map(<[u8]>::to_vec).ok_or_else(|| "it has no VP8 frame".to_owned())
}

/// The data of the first chunk called `name` in a RIFF file.
fn chunk<'a>(riff: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    let mut rest = riff.get(12..)?;
    loop {
        let (head, data) = rest.split_at_checked(8)?;
        let length = u32::from_le_bytes(head[4..].try_into().ok()?) as usize;
        if head[..4] == *name {
            return data.get(..length);
        }
        // Chunks begin at even places.
        rest = data.get(length.next_multiple_of(2)..)?;
    }
}

/// Height and width, and the pixels, `[height, width, 3]`, of a key frame.
#[cfg(test)]
pub(crate) fn decode(frame: &[u8]) -> Option<([usize; 2], Vec<u8>)> {
    let padded = frame.len().next_multiple_of(2);
    let mut riff = b"RIFF".to_vec();
    riff.extend((padded as u32 + 12).to_le_bytes());
    riff.extend(b"WEBPVP8 ");
    riff.extend((frame.len() as u32).to_le_bytes());
    riff.extend(frame);
    riff.resize(20 + padded, 0);
    let picture = webp::Decoder::new(&riff).decode()?;
    Some(([picture.height() as usize, picture.width() as usize], picture.to_vec()))
}
