//! The chunks of a PNG file: its header, its compressed rows, its end.

use std::borrow::Cow;

use libdeflater::crc32;

use crate::{FrameError, FrameShape};

const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
const HEADER: [u8; 4] = *b"IHDR";
const DATA: [u8; 4] = *b"IDAT";
const END: [u8; 4] = *b"IEND";
/// Colour type 3: samples are indices into a palette.
const INDEXED: u8 = 3;

/// PNG's number for pictures of so many channels.
fn color_type(channels: usize) -> Result<u8, FrameError> {
    match channels {
        1 => Ok(0),
        2 => Ok(4),
        3 => Ok(2),
        4 => Ok(6),
        channels => Err(FrameError::Channels { channels }),
    }
}

/// A PNG file of `shape` whose compressed rows are what `write_data` appends.
pub(super) fn write(
    shape: FrameShape,
    write_data: impl FnOnce(&mut Vec<u8>),
) -> Result<Vec<u8>, FrameError> {
    let color_type = color_type(shape.channels)?;
    let too_large = || FrameError::NotPng { reason: format!("{shape:?} has no place in a PNG") };
    let size = |n: usize| {
        u32::try_from(n).ok().filter(|&n| n > 0 && n <= i32::MAX as u32).ok_or_else(too_large)
    };
    let (width, height) = (size(shape.width)?.to_be_bytes(), size(shape.height)?.to_be_bytes());
    // Frames of CarRacing take 2 KB.
    let mut out = Vec::with_capacity(4096);
    out.extend_from_slice(&SIGNATURE);
    chunk(&mut out, HEADER, |out| {
        out.extend_from_slice(&width);
        out.extend_from_slice(&height);
        // 8 bits, deflate, filters of rows, not interlaced.
        out.extend_from_slice(&[8, color_type, 0, 0, 0]);
    })?;
    chunk(&mut out, DATA, write_data)?;
    chunk(&mut out, END, |_| {})?;
    // A rollout's frames are held until it ends.
    out.shrink_to_fit();
    Ok(out)
}

/// Appends a chunk: its length, its kind, its content, and the checksum of kind and content.
fn chunk(
    out: &mut Vec<u8>,
    kind: [u8; 4],
    content: impl FnOnce(&mut Vec<u8>),
) -> Result<(), FrameError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&kind);
    content(out);
    let length = out.len() - start - 8;
    let length = u32::try_from(length)
        .map_err(|_| FrameError::not_png(format!("{length} bytes have no place in a chunk")))?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    let checksum = crc32(&out[start + 4..]);
    out.extend_from_slice(&checksum.to_be_bytes());
    Ok(())
}

/// Whether the checksums of chunks are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checksums {
    Checked,
    Ignored,
}

/// A PNG file whose rows have not been decompressed.
pub(super) struct Picture<'a> {
    first: &'a [u8],
    /// Where the compressed rows go on in further chunks.
    more: Vec<&'a [u8]>,
}

impl<'a> Picture<'a> {
    /// Finds the compressed rows in `bytes`, which must be a picture of `shape` and nothing else.
    pub(super) fn parse(
        shape: FrameShape,
        bytes: &'a [u8],
        checksums: Checksums,
    ) -> Result<Self, FrameError> {
        let rest = bytes.strip_prefix(&SIGNATURE);
        let mut rest = rest.ok_or_else(|| FrameError::not_png("it begins otherwise"))?;
        let header = take_chunk(&mut rest, checksums)?;
        check_header(shape, &header)?;
        let mut first = None;
        let mut more = Vec::new();
        loop {
            let chunk = take_chunk(&mut rest, checksums)?;
            match (chunk.kind, first) {
                (DATA, None) => first = Some(chunk.content),
                (DATA, Some(_)) => more.push(chunk.content),
                (END, Some(first)) if rest.is_empty() => return Ok(Self { first, more }),
                (END, Some(_)) => {
                    let reason = format!("{} bytes follow its end", rest.len());
                    return Err(FrameError::not_png(reason));
                }
                (END, None) => return Err(FrameError::not_png("it has no pixels")),
                // A small letter in front: readers may leave it out.
                (kind, _) if kind[0].is_ascii_lowercase() => {}
                (kind, _) => {
                    let reason = format!("it has a chunk `{}`", kind.escape_ascii());
                    return Err(FrameError::not_png(reason));
                }
            }
        }
    }

    /// The compressed rows.
    pub(super) fn data(&self) -> Cow<'a, [u8]> {
        if self.more.is_empty() {
            return Cow::Borrowed(self.first);
        }
        Cow::Owned([&[self.first], &self.more[..]].concat().concat())
    }
}

struct Chunk<'a> {
    kind: [u8; 4],
    content: &'a [u8],
}

/// Takes a chunk from the front of `rest`.
fn take_chunk<'a>(rest: &mut &'a [u8], checksums: Checksums) -> Result<Chunk<'a>, FrameError> {
    let truncated = || FrameError::not_png("it is cut off");
    let (length, after) = rest.split_first_chunk::<4>().ok_or_else(truncated)?;
    let (kind, content) = after.split_first_chunk::<4>().ok_or_else(truncated)?;
    let length = u32::from_be_bytes(*length) as usize;
    let (content, end) = content.split_at_checked(length).ok_or_else(truncated)?;
    let (checksum, end) = end.split_first_chunk::<4>().ok_or_else(truncated)?;
    *rest = end;
    let covered = &after[..4 + length];
    if checksums == Checksums::Checked && crc32(covered) != u32::from_be_bytes(*checksum) {
        let kind = kind.escape_ascii();
        return Err(FrameError::not_png(format!("the checksum of its chunk `{kind}` is wrong")));
    }
    Ok(Chunk { kind: *kind, content })
}

fn check_header(shape: FrameShape, header: &Chunk<'_>) -> Result<(), FrameError> {
    let content: Option<&[u8; 13]> = header.content.try_into().ok();
    let Some(&[w0, w1, w2, w3, h0, h1, h2, h3, depth, color, compression, filters, interlaced]) =
        content.filter(|_| header.kind == HEADER)
    else {
        return Err(FrameError::not_png("it has no header"));
    };
    let found = FrameShape {
        height: u32::from_be_bytes([h0, h1, h2, h3]) as usize,
        width: u32::from_be_bytes([w0, w1, w2, w3]) as usize,
        channels: match color {
            0 | INDEXED => 1,
            4 => 2,
            2 => 3,
            6 => 4,
            other => return Err(FrameError::not_png(format!("it has the colour type {other}"))),
        },
    };
    if found != shape || color != color_type(shape.channels)? || depth != 8 {
        let text = |s: FrameShape| format!("{}x{}x{}", s.height, s.width, s.channels);
        let bits = match depth {
            8 if color == INDEXED => " (indexed)".to_owned(),
            8 => String::new(),
            depth => format!(" ({depth} bits)"),
        };
        let found = format!("{}{bits}", text(found));
        return Err(FrameError::Shape { found, expected: text(shape) });
    }
    if (compression, filters) != (0, 0) {
        return Err(FrameError::not_png("it is compressed in an unknown way"));
    }
    if interlaced != 0 {
        return Err(FrameError::not_png("it is interlaced, which is not read"));
    }
    Ok(())
}
