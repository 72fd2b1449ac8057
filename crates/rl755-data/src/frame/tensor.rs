//! Frames as `tensorflow.TensorProto`: what `tf.io.serialize_tensor` writes of a uint8 tensor
//! `[height, width, channel]`.
//!
//! It always writes `tensor_content`, a byte per value. `int_val`, which other writers may use and
//! `tf.io.parse_tensor` reads, it never writes (seen in TensorFlow 2.21), and it is refused here.
//!
//! Source: `tensorflow/core/framework/{tensor,tensor_shape,types}.proto`.

use prost::encoding::encode_varint;

use crate::{
    FrameError, FrameShape,
    proto::wire::{Fields, Value, WireError},
};

/// The fields of a `TensorProto`.
const DTYPE: u32 = 1;
const TENSOR_SHAPE: u32 = 2;
const TENSOR_CONTENT: u32 = 4;
/// The field of a `TensorShapeProto` with its dimensions, and that of a dimension with its size.
const DIM: u32 = 2;
const SIZE: u32 = 1;
/// `DT_UINT8`.
const UINT8: u64 = 4;
/// The wire types of variable-length integers and of what has a length.
const VARINT: u32 = 0;
const DELIMITED: u32 = 2;

/// `frame` as a tensor, in the bytes of `tf.io.serialize_tensor`.
pub(crate) fn encode(shape: FrameShape, frame: &[u8]) -> Vec<u8> {
    assert_eq!(frame.len(), shape.bytes(), "one byte per sample of {shape:?}");
    let put = |to: &mut Vec<u8>, number: u32, wire_type: u32, value: u64| {
        encode_varint(u64::from(number << 3 | wire_type), to);
        encode_varint(value, to);
    };
    let mut dims = Vec::with_capacity(32);
    for size in [shape.height, shape.width, shape.channels] {
        let mut dim = Vec::with_capacity(8);
        put(&mut dim, SIZE, VARINT, size as u64);
        put(&mut dims, DIM, DELIMITED, dim.len() as u64);
        dims.extend(dim);
    }
    let mut bytes = Vec::with_capacity(frame.len() + 64);
    put(&mut bytes, DTYPE, VARINT, UINT8);
    put(&mut bytes, TENSOR_SHAPE, DELIMITED, dims.len() as u64);
    bytes.extend(dims);
    put(&mut bytes, TENSOR_CONTENT, DELIMITED, frame.len() as u64);
    bytes.extend_from_slice(frame);
    bytes
}

/// Copies the values of the tensor `bytes` to `frame`.
pub(crate) fn decode(shape: FrameShape, bytes: &[u8], frame: &mut [u8]) -> Result<(), FrameError> {
    assert_eq!(frame.len(), shape.bytes(), "one byte per sample of {shape:?}");
    frame.copy_from_slice(content(shape, bytes)?);
    Ok(())
}

/// Checks that `bytes` are a tensor of `shape`.
pub(crate) fn check(shape: FrameShape, bytes: &[u8]) -> Result<(), FrameError> {
    content(shape, bytes).map(|_| ())
}

fn content(shape: FrameShape, bytes: &[u8]) -> Result<&[u8], FrameError> {
    let (found, content) = parse_frame(bytes)?;
    if found != shape {
        let text = |s: FrameShape| format!("{}x{}x{}", s.height, s.width, s.channels);
        return Err(FrameError::Shape { found: text(found), expected: text(shape) });
    }
    Ok(content)
}

/// The shape of the tensor `bytes`, and its values, one byte each.
pub(crate) fn parse_frame(bytes: &[u8]) -> Result<(FrameShape, &[u8]), FrameError> {
    let (mut dtype, mut dims, mut content) = (None, None, None);
    for field in Fields::of(bytes) {
        let (number, value) = field.map_err(not_tensor)?;
        let repeated = match (number, value) {
            (DTYPE, Value::Varint(value)) => dtype.replace(value).is_some(),
            (TENSOR_SHAPE, Value::Bytes(message)) => dims.replace(message).is_some(),
            (TENSOR_CONTENT, Value::Bytes(message)) => content.replace(message).is_some(),
            (DTYPE | TENSOR_SHAPE | TENSOR_CONTENT, _) => {
                return Err(not_tensor(WireError::FieldType { number }));
            }
            _ => false,
        };
        if repeated {
            return Err(not_tensor(WireError::Repeated { number }));
        }
    }
    if dtype != Some(UINT8) {
        let found = dtype.map_or("none".to_owned(), |dtype| dtype.to_string());
        return Err(not_tensor(format!("its type is {found}, not {UINT8}, DT_UINT8")));
    }
    let mut sizes = [0; 3];
    let mut dimensions = 0;
    for field in Fields::of(dims.unwrap_or_default()) {
        if let (DIM, Value::Bytes(dim)) = field.map_err(not_tensor)? {
            if let Some(place) = sizes.get_mut(dimensions) {
                *place = size(dim)?;
            }
            dimensions += 1;
        }
    }
    if dimensions != sizes.len() {
        return Err(not_tensor(format!("it has {dimensions} dimensions, not {}", sizes.len())));
    }
    let content = content.unwrap_or_default();
    let values = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    if values != Some(content.len()) {
        let [height, width, channels] = sizes;
        return Err(not_tensor(format!(
            "{} bytes of tensor_content for {height}x{width}x{channels} values",
            content.len()
        )));
    }
    let [height, width, channels] = sizes;
    Ok((FrameShape { height, width, channels }, content))
}

/// The size in the message of a dimension; proto3 leaves a 0 out.
fn size(dim: &[u8]) -> Result<usize, FrameError> {
    let mut size = 0;
    for field in Fields::of(dim) {
        if let (SIZE, Value::Varint(value)) = field.map_err(not_tensor)? {
            size = value;
        }
    }
    usize::try_from(size).map_err(|_| not_tensor(format!("a dimension of {size}")))
}

fn not_tensor(reason: impl ToString) -> FrameError {
    FrameError::NotTensor { reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: FrameShape = FrameShape { height: 2, width: 3, channels: 3 };
    /// `tf.io.serialize_tensor(np.arange(18, dtype=np.uint8).reshape(2, 3, 3))`, TensorFlow 2.21.
    const GOLDEN: [u8; 36] = [
        8, 4, 18, 12, 18, 2, 8, 2, 18, 2, 8, 3, 18, 2, 8, 3, 34, 18, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
        10, 11, 12, 13, 14, 15, 16, 17,
    ];

    #[test]
    fn bytes_are_those_of_tensorflow() {
        let frame: Vec<u8> = (0..18).collect();
        assert_eq!(encode(SHAPE, &frame), GOLDEN);
        let mut decoded = [0; 18];
        decode(SHAPE, &GOLDEN, &mut decoded).unwrap();
        assert_eq!(decoded[..], frame);
        // The beginnings of others that TensorFlow wrote: CarRacing's, and sizes of two bytes.
        let check = |[height, width, channels]: [usize; 3], length: usize, head: &[u8]| {
            let shape = FrameShape { height, width, channels };
            let bytes = encode(shape, &vec![7; shape.bytes()]);
            assert_eq!((bytes.len(), &bytes[..head.len()]), (length, head));
        };
        let car =
            b"\x08\x04\x12\x0c\x12\x02\x08\x60\x12\x02\x08\x60\x12\x02\x08\x03\x22\x80\xd8\x01\x07";
        check([96, 96, 3], 27_668, car);
        let large = b"\x08\x04\x12\x0e\x12\x03\x08\xc8\x01\x12\x03\x08\xac\x02\x12\x02\x08\x03\x22\xa0\xfe\x0a\x07";
        check([200, 300, 3], 180_022, large);
    }

    #[test]
    fn other_tensors_are_refused() {
        let check = |bytes: &[u8], expected: &str| {
            assert_eq!(super::check(SHAPE, bytes).unwrap_err().to_string(), expected);
        };
        check(&[], "not a tensor of bytes: its type is none, not 4, DT_UINT8");
        let mut float = GOLDEN;
        float[1] = 1;
        check(&float, "not a tensor of bytes: its type is 1, not 4, DT_UINT8");
        let square = FrameShape { height: 3, width: 3, channels: 2 };
        let other = encode(square, &[0; 18]);
        check(&other, "a picture of 3x3x2, where 2x3x3 is needed");
        let mut larger = GOLDEN;
        larger[11] = 4;
        check(&larger, "not a tensor of bytes: 18 bytes of tensor_content for 2x4x3 values");
        let mut shorter = GOLDEN[..35].to_vec();
        shorter[17] = 17;
        check(&shorter, "not a tensor of bytes: 17 bytes of tensor_content for 2x3x3 values");
        check(&GOLDEN[..35], "not a tensor of bytes: a field goes beyond the end of its message");
        for length in 0..GOLDEN.len() {
            assert!(super::check(SHAPE, &GOLDEN[..length]).is_err(), "{length} bytes");
        }
    }
}
