//! EBML, the framing of WebM files (RFC 8794): an element is its id, the length of its data, and
//! the data.

/// The id of the header.
pub(crate) const EBML: u32 = 0x1A45_DFA3;
/// The id of the element with everything else.
pub(crate) const SEGMENT: u32 = 0x1853_8067;
/// The id of a stretch of blocks.
pub(crate) const CLUSTER: u32 = 0x1F43_B675;
/// The id of a block with one frame.
pub(crate) const SIMPLE_BLOCK: u32 = 0xA3;

/// An element with bytes.
pub(crate) fn binary(id: u32, data: &[u8]) -> Vec<u8> {
    let id = id.to_be_bytes();
    let begin = id.iter().position(|byte| *byte != 0).unwrap_or(3);
    // Lengths always take eight bytes: a leading 1 says so.
    let length = (data.len() as u64 | 1 << 56).to_be_bytes();
    [&id[begin..], &length, data].concat()
}

/// An element with elements.
pub(crate) fn master(id: u32, parts: &[Vec<u8>]) -> Vec<u8> {
    binary(id, &parts.concat())
}

/// An element with a whole number.
pub(crate) fn unsigned(id: u32, value: u64) -> Vec<u8> {
    binary(id, &value.to_be_bytes())
}

/// An element with a number.
pub(crate) fn float(id: u32, value: f64) -> Vec<u8> {
    binary(id, &value.to_be_bytes())
}

/// An element with text.
pub(crate) fn text(id: u32, value: &str) -> Vec<u8> {
    binary(id, value.as_bytes())
}

/// The elements in `bytes` by id, as any reader would take them apart.
#[cfg(test)]
pub(crate) fn parse(mut bytes: &[u8]) -> Vec<(u32, &[u8])> {
    let mut elements = Vec::new();
    while let Some(&first) = bytes.first() {
        let id_length = first.leading_zeros() as usize + 1;
        let (id, rest) = bytes.split_at(id_length);
        let size_length = rest[0].leading_zeros() as usize + 1;
        let (size, rest) = rest.split_at(size_length);
        let number = |bytes: &[u8]| bytes.iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
        let length = number(size) & ((1 << (7 * size_length)) - 1);
        let (data, rest) = rest.split_at(length as usize);
        elements.push((number(id) as u32, data));
        bytes = rest;
    }
    elements
}
