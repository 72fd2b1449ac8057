//! The views show what prost decodes: random messages, as any writer may write them, and what is
//! left of them when bytes are cut off or changed.

use prost::Message;
use rl755_run::Random;

use super::*;
use crate::proto::{
    BytesList, Feature, FeatureList, FeatureLists, Features, FloatList, Int64List, Kind,
    SequenceExample,
};

/// Field `number` with the bytes `value`.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    prost::encoding::encode_varint(value.len() as u64, &mut bytes);
    bytes.extend(value);
    bytes
}

/// Messages as prost, or an older or a newer writer, may write them.
struct Writer(Random);

impl Writer {
    /// `parts` as one message, now and then with a field between them that nobody knows.
    fn message(&mut self, parts: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
        let unknown = [b"\x78\x96\x01".to_vec(), b"\x79unknown!".to_vec(), b"\x7dfour".to_vec()];
        let mut message = Vec::new();
        for part in parts {
            match self.0.below(20) {
                n @ 0..3 => message.extend(&unknown[n]),
                3 => message.extend(field(15, b"\xff unknown")),
                _ => {}
            }
            message.extend(part);
        }
        message
    }

    fn some(&mut self, part: impl Fn(&mut Self) -> Vec<u8>) -> Vec<u8> {
        let parts: Vec<_> = (0..self.0.below(5)).map(|_| part(self)).collect();
        self.message(parts)
    }

    fn feature(&mut self) -> Vec<u8> {
        let kind = self.0.below(4) as u8;
        let list = match kind {
            0 => return self.message([]),
            1 => self.some(|w| field(1, &vec![7; w.0.below(200)])),
            2 => self.some(|w| {
                let floats: Vec<f32> = (0..w.0.below(5)).map(|_| w.0.normal() as f32).collect();
                let packed: Vec<u8> = floats.iter().flat_map(|v| v.to_le_bytes()).collect();
                match floats[..] {
                    [value] => [&[0x0d], &value.to_le_bytes()[..]].concat(),
                    _ => field(1, &packed),
                }
            }),
            _ => self.some(|w| {
                let mut ints = Vec::new();
                for _ in 0..w.0.below(5) {
                    let bits = w.0.below(64);
                    prost::encoding::encode_varint(w.0.bits() >> bits, &mut ints);
                }
                match w.0.below(2) {
                    0 => [&[0x08, 5], &field(1, &ints)[..]].concat(),
                    _ => field(1, &ints),
                }
            }),
        };
        self.message([field(kind, &list)])
    }

    fn map(&mut self, value: impl Fn(&mut Self) -> Vec<u8>) -> Vec<u8> {
        let mut entries = Vec::new();
        for i in 0..self.0.below(6) {
            let key = field(1, format!("key {i}").as_bytes());
            let value = value(self);
            let parts = match self.0.below(8) {
                0 => vec![field(2, &value), key],
                1 => vec![key],
                _ => vec![key, field(2, &value)],
            };
            entries.push(field(1, &self.message(parts)));
        }
        self.message(entries)
    }

    fn example(&mut self) -> Vec<u8> {
        let context = self.map(Self::feature);
        let lists = self.map(|w| w.some(|w| field(1, &w.feature())));
        let parts = match self.0.below(6) {
            0 => vec![field(2, &lists), field(1, &context)],
            1 => vec![field(2, &lists)],
            _ => vec![field(1, &context), field(2, &lists)],
        };
        self.message(parts)
    }
}

fn feature(message: &[u8]) -> Result<Feature, WireError> {
    let view = FeatureView::parse(message)?;
    let kind = match view {
        FeatureView::Empty => None,
        FeatureView::Bytes(list) => {
            let value = items(list).map(|item| item.map(|b| b.to_vec().into()));
            Some(Kind::BytesList(BytesList { value: value.collect::<Result<_, _>>()? }))
        }
        FeatureView::Floats(_) => {
            let mut value = Vec::new();
            assert!(view.append_floats(&mut value)?);
            Some(Kind::FloatList(FloatList { value }))
        }
        FeatureView::Ints(_) => {
            let value = view.ints().unwrap().collect::<Result<_, _>>()?;
            Some(Kind::Int64List(Int64List { value }))
        }
    };
    Ok(Feature { kind })
}

/// All of a record, as the views show it.
fn read(record: &[u8]) -> Result<SequenceExample, WireError> {
    let example = Example::parse(record)?;
    let mut context = Features::default();
    for entry in entries(example.context) {
        let (key, _) = entry?;
        let message = find(example.context, key)?.unwrap();
        context.feature.insert(key.to_owned(), feature(message)?);
    }
    let mut lists = FeatureLists::default();
    for entry in entries(example.lists) {
        let (key, _) = entry?;
        let list = example.list(key)?.unwrap();
        let steps = list.features().map(|message| feature(message?));
        let list = FeatureList { feature: steps.collect::<Result<_, _>>()? };
        lists.feature_list.insert(key.to_owned(), list);
    }
    Ok(SequenceExample { context: Some(context), feature_lists: Some(lists) })
}

/// Whether prost and the views agree that `record` is a message, and on what it says.
fn check_agreement(record: &[u8]) -> bool {
    let found = read(record);
    let values_are_sound = Example::parse(record).and_then(|e| e.check(|_| false));
    match (&found, SequenceExample::decode(record)) {
        (Ok(found), Ok(mut expected)) => {
            expected.context.get_or_insert_default();
            expected.feature_lists.get_or_insert_default();
            // As bytes, so that NaN is equal to itself.
            assert_eq!(found.encode_to_vec(), expected.encode_to_vec(), "{record:x?}");
            assert_eq!(values_are_sound, Ok(()));
            true
        }
        (Err(error), Ok(_)) => {
            let stricter = matches!(
                error,
                WireError::Repeated { .. }
                    | WireError::RepeatedName
                    | WireError::WireType { wire_type: 3 }
            );
            assert!(stricter, "{error} in {record:x?}");
            false
        }
        (Err(error), Err(_)) => {
            assert!(values_are_sound.is_err() || *error == WireError::RepeatedName);
            false
        }
        (Ok(_), Err(error)) => panic!("prost says {error} of {record:x?}"),
    }
}

#[test]
fn prost_reads_the_same() {
    let mut writer = Writer(Random::new(755));
    let (mut sound, mut broken) = (0, 0);
    for _ in 0..2000 {
        let record = writer.example();
        assert!(check_agreement(&record), "{record:x?}");
        if record.is_empty() {
            continue;
        }
        for _ in 0..20 {
            let mut mutated = record.clone();
            let place = writer.0.below(record.len());
            match writer.0.below(3) {
                0 => mutated.truncate(place),
                1 => mutated[place] = writer.0.bits() as u8,
                _ => mutated[place] ^= 1 << writer.0.below(8),
            }
            *(if check_agreement(&mutated) { &mut sound } else { &mut broken }) += 1;
        }
    }
    // Neither way of failing has been left out.
    assert!(sound > 2000 && broken > 2000, "{sound} sound, {broken} broken");
}

#[test]
fn what_stands_twice_is_an_error() {
    let check = |record: &[u8], expected: WireError| {
        assert_eq!(read(record).unwrap_err(), expected);
        assert!(SequenceExample::decode(record).is_ok());
    };
    let value = Feature::ints(vec![1]).encode_to_vec();
    let entry = [field(1, b"a"), field(2, &value)].concat();
    let map = field(1, &entry);
    check(&[field(1, &map), field(1, &map)].concat(), WireError::Repeated { number: 1 });
    check(&field(1, &[&map[..], &map].concat()), WireError::RepeatedName);
    let entry = [&entry[..], &field(2, &value)].concat();
    check(&field(1, &field(1, &entry)), WireError::Repeated { number: 2 });
    let entry = [field(1, b"a"), field(2, &[&value[..], &value].concat())].concat();
    check(&field(1, &field(1, &entry)), WireError::Repeated { number: 3 });
}
