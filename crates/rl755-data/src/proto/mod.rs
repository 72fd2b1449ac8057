//! The messages of `data-schemas/example.proto`: TensorFlow's `SequenceExample` and its parts.
//!
//! For writing, and to compare with in tests; records are read by walking over their bytes. Written
//! by hand rather than generated, so that building needs no `protoc`. Maps are ordered, so that equal
//! messages have equal bytes.

pub(crate) mod example;
pub(crate) mod wire;

pub use self::wire::WireError;

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

    /// The fields in `data-schemas/example.proto`: `BytesList: repeated bytes value = 1`.
    fn fields_of_the_schema() -> Vec<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data-schemas/example.proto");
        let text = std::fs::read_to_string(path).unwrap();
        let mut message = "";
        let mut fields = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("message ") {
                message = name.trim_end_matches(" {");
            } else if let Some(field) = line.strip_suffix(';')
                && field.contains(" = ")
                && !message.is_empty()
            {
                fields.push(format!("{message}: {}", field.trim_end_matches(" [packed = true]")));
            }
        }
        fields
    }

    #[test]
    fn messages_are_those_of_the_schema() {
        let feature = || Feature { kind: None };
        let kind = |kind| Feature { kind: Some(kind) }.encode_to_vec();
        let context = Some(Features::default());
        let feature_lists = Some(FeatureLists::default());
        // Each field alone, and its bytes: the number and wire type, the length, the value.
        let written = [
            ("BytesList: repeated bytes value = 1", {
                (
                    BytesList { value: vec![b"ab"[..].into()] }.encode_to_vec(),
                    vec![0x0a, 2, b'a', b'b'],
                )
            }),
            ("FloatList: repeated float value = 1", {
                let value = vec![1.0, 2.0];
                (
                    FloatList { value }.encode_to_vec(),
                    vec![0x0a, 8, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40],
                )
            }),
            ("Int64List: repeated int64 value = 1", {
                (Int64List { value: vec![1, 300] }.encode_to_vec(), vec![0x0a, 3, 1, 0xac, 2])
            }),
            ("Feature: BytesList bytes_list = 1", {
                (kind(Kind::BytesList(BytesList::default())), vec![0x0a, 0])
            }),
            ("Feature: FloatList float_list = 2", {
                (kind(Kind::FloatList(FloatList::default())), vec![0x12, 0])
            }),
            ("Feature: Int64List int64_list = 3", {
                (kind(Kind::Int64List(Int64List::default())), vec![0x1a, 0])
            }),
            ("Features: map<string, Feature> feature = 1", {
                let feature = [("a".to_owned(), Feature::ints(vec![]))].into();
                (
                    Features { feature }.encode_to_vec(),
                    vec![0x0a, 7, 0x0a, 1, b'a', 0x12, 2, 0x1a, 0],
                )
            }),
            ("FeatureList: repeated Feature feature = 1", {
                let feature = vec![feature(), feature()];
                (FeatureList { feature }.encode_to_vec(), vec![0x0a, 0, 0x0a, 0])
            }),
            ("FeatureLists: map<string, FeatureList> feature_list = 1", {
                let list = FeatureList { feature: vec![feature()] };
                let feature_list = [("a".to_owned(), list)].into();
                let expected = vec![0x0a, 7, 0x0a, 1, b'a', 0x12, 2, 0x0a, 0];
                (FeatureLists { feature_list }.encode_to_vec(), expected)
            }),
            ("SequenceExample: Features context = 1", {
                (SequenceExample { context, feature_lists: None }.encode_to_vec(), vec![0x0a, 0])
            }),
            ("SequenceExample: FeatureLists feature_lists = 2", {
                (SequenceExample { context: None, feature_lists }.encode_to_vec(), vec![0x12, 0])
            }),
        ];
        assert_eq!(fields_of_the_schema(), written.each_ref().map(|(field, _)| *field));
        for (field, (bytes, expected)) in written {
            assert_eq!(bytes, expected, "{field}");
        }
    }
}
