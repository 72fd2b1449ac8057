//! Protocol buffers' wire format, read from a borrowed slice.
//!
//! Nothing is allocated, every read is checked, and no function calls itself: a message is an
//! iterator over its fields, and a message within it is a slice that its reader may look into.
//! Groups, which proto3 does not have, are refused.
//!
//! Source: <https://protobuf.dev/programming-guides/encoding/>.

/// Bytes that are no message in protocol buffers' wire format, or not the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A field is longer than what is left of its message.
    #[error("a field goes beyond the end of its message")]
    TooLong,
    /// A variable-length integer has more than 64 bits.
    #[error("an integer has more than 64 bits")]
    Varint,
    /// A field has the number 0, or one above 2^29 - 1.
    #[error("a field has an invalid number")]
    FieldNumber,
    /// A field has a wire type that there is not, or that of a group.
    #[error("a field has the wire type {wire_type}, which is not used")]
    WireType {
        /// The wire type.
        wire_type: u8,
    },
    /// A known field has the wire type of another.
    #[error("field {number} has another type than it should have")]
    FieldType {
        /// The field's number.
        number: u32,
    },
    /// A field that a message has once is there again.
    #[error("field {number} stands twice in one message")]
    Repeated {
        /// The field's number.
        number: u32,
    },
    /// A name stands for two things.
    #[error("a name stands twice in one map")]
    RepeatedName,
    /// A name is not UTF-8.
    #[error("a name is not UTF-8")]
    Name,
    /// Packed floats do not fill their field.
    #[error("{bytes} bytes of packed floats are not a multiple of 4")]
    PackedFloats {
        /// How many bytes there are.
        bytes: usize,
    },
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A variable-length integer.
    Varint(u64),
    /// 8 bytes.
    Fixed64,
    /// A string, a byte string, a message or packed numbers.
    Bytes(&'a [u8]),
    /// 4 bytes, little-endian.
    Fixed32([u8; 4]),
}

/// The fields of a message, in their order. Ends after the first error.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<(u32, Value<'a>), WireError> {
        let key = varint(&mut self.rest)?;
        let number = u32::try_from(key).map_err(|_| WireError::FieldNumber)? >> 3;
        if number == 0 {
            return Err(WireError::FieldNumber);
        }
        let value = match (key & 7) as u8 {
            0 => Value::Varint(varint(&mut self.rest)?),
            1 => {
                self.take(8)?;
                Value::Fixed64
            }
            2 => {
                let length = varint(&mut self.rest)?;
                Value::Bytes(self.take(length)?)
            }
            5 => {
                let (&bytes, rest) = self.rest.split_first_chunk().ok_or(WireError::TooLong)?;
                self.rest = rest;
                Value::Fixed32(bytes)
            }
            wire_type => return Err(WireError::WireType { wire_type }),
        };
        Ok((number, value))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(length).map_err(|_| WireError::TooLong)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(WireError::TooLong)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), WireError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Takes a variable-length integer, of at most 10 bytes, from the beginning of `bytes`.
#[inline]
pub(crate) fn varint(bytes: &mut &[u8]) -> Result<u64, WireError> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(WireError::TooLong)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            // The tenth byte has room for one bit.
            return if shift == 63 && byte > 1 { Err(WireError::Varint) } else { Ok(value) };
        }
    }
    Err(WireError::Varint)
}

/// The byte string or message in a field that must hold one.
pub(crate) fn length_delimited<'a>(number: u32, value: Value<'a>) -> Result<&'a [u8], WireError> {
    match value {
        Value::Bytes(bytes) => Ok(bytes),
        _ => Err(WireError::FieldType { number }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &[u8], expected: &[Result<(u32, Value<'_>), WireError>]) {
        assert_eq!(Fields::of(message).collect::<Vec<_>>(), expected, "{message:x?}");
    }

    #[test]
    fn fields_are_those_of_the_encoding_guide() {
        // The guide's examples: `Test1 { a: 150 }`, `Test2 { b: "testing" }`.
        check(&[0x08, 0x96, 0x01], &[Ok((1, Value::Varint(150)))]);
        check(b"\x12\x07testing", &[Ok((2, Value::Bytes(b"testing")))]);
        check(
            b"\x0d\x01\x02\x03\x04\x11........\x02",
            &[
                Ok((1, Value::Fixed32([1, 2, 3, 4]))),
                Ok((2, Value::Fixed64)),
                Err(WireError::FieldNumber),
            ],
        );
    }

    #[test]
    fn broken_fields_end_the_message() {
        check(&[0x08, 0x80], &[Err(WireError::TooLong)]);
        check(&[0x0a, 2, 0], &[Err(WireError::TooLong)]);
        check(&[0x0d, 1, 2, 3], &[Err(WireError::TooLong)]);
        check(&[0x0b, 0x0c], &[Err(WireError::WireType { wire_type: 3 })]);
        check(&[0x0f], &[Err(WireError::WireType { wire_type: 7 })]);
        // Field numbers have 29 bits.
        check(&[0x80, 0x80, 0x80, 0x80, 0x10, 0], &[Err(WireError::FieldNumber)]);
    }

    #[test]
    fn a_hostile_length_takes_no_memory() {
        let message = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0];
        check(&message, &[Err(WireError::TooLong)]);
    }

    #[test]
    fn integers_have_64_bits() {
        let read = |mut bytes: &[u8]| varint(&mut bytes);
        let largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(read(&largest), Ok(u64::MAX));
        let mut larger = largest;
        larger[9] = 2;
        assert_eq!(read(&larger), Err(WireError::Varint));
        assert_eq!(read(&[0x80; 11]), Err(WireError::Varint));
        // More bytes than are needed are allowed.
        assert_eq!(read(&[0x81, 0x80, 0]), Ok(1));
    }
}
