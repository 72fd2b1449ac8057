//! TFRecord framing, as TensorFlow writes it: a length, its checksum, the bytes, their checksum.

use std::io::{self, Write};

/// CRC-32C, rotated and offset so that checksums of checksums stay good (TensorFlow's masking).
pub fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Appends one record, which then takes 16 bytes more than `bytes`.
///
/// # Errors
/// When `writer` fails.
pub fn write_record(writer: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = (bytes.len() as u64).to_le_bytes();
    writer.write_all(&length)?;
    writer.write_all(&masked_crc(&length).to_le_bytes())?;
    writer.write_all(bytes)?;
    writer.write_all(&masked_crc(bytes).to_le_bytes())
}
