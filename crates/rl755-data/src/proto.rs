//! The messages of `data-schemas/example.proto`: TensorFlow's `SequenceExample` and its parts.
//!
//! Written by hand rather than generated, so that building needs no `protoc`. Maps are ordered, so
//! that equal messages have equal bytes. Byte strings share the buffer they were decoded from.

use std::collections::BTreeMap;

use prost::{Message, Oneof, bytes::Bytes};

/// Byte strings, such as an encoded frame.
#[derive(Clone, PartialEq, Message)]
pub struct BytesList {
    /// The strings.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub value: Vec<Bytes>,
}

/// Floats, packed.
#[derive(Clone, PartialEq, Message)]
pub struct FloatList {
    /// The floats.
    #[prost(float, repeated, tag = "1")]
    pub value: Vec<f32>,
}

/// Integers, packed.
#[derive(Clone, PartialEq, Message)]
pub struct Int64List {
    /// The integers.
    #[prost(int64, repeated, tag = "1")]
    pub value: Vec<i64>,
}

/// A list of values of one type.
#[derive(Clone, PartialEq, Message)]
pub struct Feature {
    /// The values; `None` stands for no values of no type.
    #[prost(oneof = "Kind", tags = "1, 2, 3")]
    pub kind: Option<Kind>,
}

/// The values of a [`Feature`].
#[derive(Clone, PartialEq, Oneof)]
pub enum Kind {
    /// Byte strings.
    #[prost(message, tag = "1")]
    BytesList(BytesList),
    /// Floats.
    #[prost(message, tag = "2")]
    FloatList(FloatList),
    /// Integers.
    #[prost(message, tag = "3")]
    Int64List(Int64List),
}

/// Features by name.
#[derive(Clone, PartialEq, Message)]
pub struct Features {
    /// The features.
    #[prost(btree_map = "string, message", tag = "1")]
    pub feature: BTreeMap<String, Feature>,
}

/// A feature for each step of a sequence.
#[derive(Clone, PartialEq, Message)]
pub struct FeatureList {
    /// One per step.
    #[prost(message, repeated, tag = "1")]
    pub feature: Vec<Feature>,
}

/// Sequences by name.
#[derive(Clone, PartialEq, Message)]
pub struct FeatureLists {
    /// The sequences.
    #[prost(btree_map = "string, message", tag = "1")]
    pub feature_list: BTreeMap<String, FeatureList>,
}

/// A rollout: what holds for all of it, and its sequences.
#[derive(Clone, PartialEq, Message)]
pub struct SequenceExample {
    /// What holds for the whole rollout.
    #[prost(message, optional, tag = "1")]
    pub context: Option<Features>,
    /// What there is for each step.
    #[prost(message, optional, tag = "2")]
    pub feature_lists: Option<FeatureLists>,
}

impl Feature {
    /// One byte string.
    pub fn bytes(value: impl Into<Bytes>) -> Self {
        Self { kind: Some(Kind::BytesList(BytesList { value: vec![value.into()] })) }
    }

    /// Floats.
    pub fn floats(value: Vec<f32>) -> Self {
        Self { kind: Some(Kind::FloatList(FloatList { value })) }
    }

    /// Integers.
    pub fn ints(value: Vec<i64>) -> Self {
        Self { kind: Some(Kind::Int64List(Int64List { value })) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_wire_format() {
        // By hand after the protocol buffers' encoding: field 1 (context), map entry, "a", then
        // feature 1, float_list 2, packed field 1.
        let example = SequenceExample {
            context: Some(Features {
                feature: [("a".to_owned(), Feature::floats(vec![1.0]))].into(),
            }),
            feature_lists: None,
        };
        let expected =
            [0x0a, 15, 0x0a, 13, 0x0a, 1, b'a', 0x12, 8, 0x12, 6, 0x0a, 4, 0, 0, 0x80, 0x3f];
        assert_eq!(example.encode_to_vec(), expected);
    }

    #[test]
    fn decoded_byte_strings_share_the_buffer() {
        let feature = Feature::bytes(vec![7; 100]);
        let buffer = Bytes::from(feature.encode_to_vec());
        let range = buffer.as_ptr() as usize..buffer.as_ptr() as usize + buffer.len();
        let Some(Kind::BytesList(list)) = Feature::decode(buffer.clone()).unwrap().kind else {
            panic!("not a bytes list");
        };
        assert!(range.contains(&(list.value[0].as_ptr() as usize)));
    }
}
