//! `tf.train.SequenceExample` as views into the bytes of a record, for reading.
//!
//! [`proto`](crate::proto) has the same messages for writing. Here nothing is allocated: what a key
//! stands for is looked up by walking over the names, of which a record has about fifteen. Unknown
//! fields are skipped. Where the same field of a message that is not repeated, or the same key,
//! stands twice, protocol buffers let the later merge with the earlier or replace it; no writer
//! does so, and it is an error here. A value is read when it is asked for, and so are errors in it;
//! [`Example::check`] looks at all of them.

use crate::proto::wire::{Fields, Value, WireError, length_delimited, varint};

/// The fields of a `SequenceExample`.
const CONTEXT: u32 = 1;
const FEATURE_LISTS: u32 = 2;
/// The fields of an entry of a map.
const KEY: u32 = 1;
const VALUE: u32 = 2;
/// The fields of a `Feature`.
const BYTES_LIST: u32 = 1;
const FLOAT_LIST: u32 = 2;
const INT64_LIST: u32 = 3;
/// The one field of every other message, a list or a map.
const ITEMS: u32 = 1;

/// What holds for a whole rollout, and its sequences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Example<'a> {
    context: &'a [u8],
    lists: &'a [u8],
}

impl<'a> Example<'a> {
    /// Takes the message `record` apart into its names and what they stand for.
    pub(crate) fn parse(record: &'a [u8]) -> Result<Self, WireError> {
        let [context, lists] = pair(record, CONTEXT, FEATURE_LISTS)?;
        let example = Self { context, lists };
        for map in [context, lists] {
            entries(map).try_for_each(|entry| entry.map(|_| ()))?;
        }
        Ok(example)
    }

    /// Whether anything is said of the whole rollout.
    pub(crate) fn has_context(&self) -> bool {
        !self.context.is_empty()
    }

    /// The feature of the whole rollout that is called `key`.
    pub(crate) fn feature(&self, key: &str) -> Result<Option<FeatureView<'a>>, WireError> {
        find(self.context, key)?.map(FeatureView::parse).transpose()
    }

    /// The sequence that is called `key`.
    pub(crate) fn list(&self, key: &str) -> Result<Option<FeatureListView<'a>>, WireError> {
        Ok(find(self.lists, key)?.map(|message| FeatureListView { message }))
    }

    /// The names of the sequences that are `wanted`.
    pub(crate) fn list_keys(
        &self,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<&'a str>, WireError> {
        let mut keys = Vec::new();
        for entry in entries(self.lists) {
            let (key, _) = entry?;
            if wanted(key) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    /// Reads every value, and drops it, but those of features and sequences that are read anyway.
    pub(crate) fn check(&self, is_read: impl Fn(&str) -> bool) -> Result<(), WireError> {
        for entry in entries(self.context) {
            let (key, feature) = entry?;
            if !is_read(key) {
                FeatureView::parse(feature)?.check()?;
            }
        }
        for entry in entries(self.lists) {
            let (key, message) = entry?;
            if !is_read(key) {
                for feature in (FeatureListView { message }).features() {
                    FeatureView::parse(feature?)?.check()?;
                }
            }
        }
        Ok(())
    }
}

/// A feature for each step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeatureListView<'a> {
    message: &'a [u8],
}

impl<'a> FeatureListView<'a> {
    /// How many bytes it has, at least two for each step.
    pub(crate) fn bytes(&self) -> usize {
        self.message.len()
    }

    /// The messages of the steps, for [`FeatureView::parse`].
    pub(crate) fn features(&self) -> impl Iterator<Item = Result<&'a [u8], WireError>> + use<'a> {
        items(self.message)
    }
}

/// A list of values of one type, which are read when they are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FeatureView<'a> {
    /// No values of no type.
    Empty,
    /// Byte strings.
    Bytes(&'a [u8]),
    /// Floats.
    Floats(&'a [u8]),
    /// Integers.
    Ints(&'a [u8]),
}

impl<'a> FeatureView<'a> {
    /// Finds the list in the message of a feature.
    #[inline]
    pub(crate) fn parse(message: &'a [u8]) -> Result<Self, WireError> {
        let mut found = Self::Empty;
        for field in Fields::of(message) {
            let (number, value) = field?;
            let list = match number {
                BYTES_LIST => Self::Bytes,
                FLOAT_LIST => Self::Floats,
                INT64_LIST => Self::Ints,
                _ => continue,
            };
            if !matches!(found, Self::Empty) {
                return Err(WireError::Repeated { number });
            }
            found = list(length_delimited(number, value)?);
        }
        Ok(found)
    }

    /// The byte string, if it is one byte string.
    pub(crate) fn byte_string(&self) -> Result<Option<&'a [u8]>, WireError> {
        let Self::Bytes(list) = *self else { return Ok(None) };
        let mut strings = items(list);
        let first = strings.next().transpose()?;
        Ok(if strings.next().transpose()?.is_none() { first } else { None })
    }

    /// Appends the values, if they are floats, to `values`.
    #[inline]
    pub(crate) fn append_floats(&self, values: &mut Vec<f32>) -> Result<bool, WireError> {
        let Self::Floats(list) = *self else { return Ok(false) };
        for field in Fields::of(list) {
            match field? {
                (ITEMS, Value::Bytes(packed)) => {
                    let (floats, rest) = packed.as_chunks();
                    if !rest.is_empty() {
                        return Err(WireError::PackedFloats { bytes: packed.len() });
                    }
                    values.extend(floats.iter().map(|&bytes| f32::from_le_bytes(bytes)));
                }
                (ITEMS, Value::Fixed32(bytes)) => values.push(f32::from_le_bytes(bytes)),
                (ITEMS, _) => return Err(WireError::FieldType { number: ITEMS }),
                _ => {}
            }
        }
        Ok(true)
    }

    /// The values, if they are integers.
    pub(crate) fn ints(&self) -> Option<Ints<'a>> {
        let Self::Ints(list) = *self else { return None };
        Some(Ints { fields: Fields::of(list), packed: &[] })
    }

    /// How many values of which type there are, in words.
    pub(crate) fn describe(&self) -> String {
        let (count, what) = match *self {
            Self::Empty => return "nothing".to_owned(),
            Self::Bytes(list) => (items(list).count(), "byte strings"),
            Self::Floats(list) => {
                let count = |field| match field {
                    Ok((ITEMS, Value::Bytes(packed))) => packed.len() / 4,
                    Ok((ITEMS, Value::Fixed32(_))) => 1,
                    _ => 0,
                };
                (Fields::of(list).map(count).sum(), "floats")
            }
            Self::Ints(_) => (self.ints().into_iter().flatten().count(), "integers"),
        };
        format!("{count} {what}")
    }

    /// Reads every value and drops it.
    fn check(&self) -> Result<(), WireError> {
        match *self {
            Self::Empty => Ok(()),
            Self::Bytes(list) => items(list).try_for_each(|item| item.map(|_| ())),
            Self::Floats(list) => Fields::of(list).try_for_each(|field| match field? {
                (ITEMS, Value::Bytes(packed)) if packed.len() % 4 != 0 => {
                    Err(WireError::PackedFloats { bytes: packed.len() })
                }
                (ITEMS, Value::Varint(_) | Value::Fixed64) => {
                    Err(WireError::FieldType { number: ITEMS })
                }
                _ => Ok(()),
            }),
            Self::Ints(_) => {
                self.ints().into_iter().flatten().try_for_each(|value| value.map(|_| ()))
            }
        }
    }
}

/// Integers, packed or one by one.
#[derive(Clone, Debug)]
pub(crate) struct Ints<'a> {
    fields: Fields<'a>,
    packed: &'a [u8],
}

impl Iterator for Ints<'_> {
    type Item = Result<i64, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.packed.is_empty() {
            match self.fields.next()? {
                Ok((ITEMS, Value::Bytes(packed))) => self.packed = packed,
                Ok((ITEMS, Value::Varint(value))) => return Some(Ok(value.cast_signed())),
                Ok((ITEMS, _)) => return Some(Err(WireError::FieldType { number: ITEMS })),
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        let value = varint(&mut self.packed);
        if value.is_err() {
            self.packed = &[];
        }
        Some(value.map(u64::cast_signed))
    }
}

/// What lies in field 1 of a message, which is a list of byte strings or messages.
fn items(message: &[u8]) -> impl Iterator<Item = Result<&[u8], WireError>> {
    Fields::of(message).filter_map(|field| match field {
        Ok((ITEMS, value)) => Some(length_delimited(ITEMS, value)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

/// The names of a map, and the messages they stand for.
fn entries(map: &[u8]) -> impl Iterator<Item = Result<(&str, &[u8]), WireError>> {
    items(map).map(|entry| {
        let [key, value] = pair(entry?, KEY, VALUE)?;
        Ok((str::from_utf8(key).map_err(|_| WireError::Name)?, value))
    })
}

/// What `key` stands for in a map.
fn find<'a>(map: &'a [u8], key: &str) -> Result<Option<&'a [u8]>, WireError> {
    let mut found = None;
    for entry in entries(map) {
        let (name, value) = entry?;
        if name == key && found.replace(value).is_some() {
            return Err(WireError::RepeatedName);
        }
    }
    Ok(found)
}

/// Two length-delimited fields of a message, empty where they are not there.
fn pair(message: &[u8], first: u32, second: u32) -> Result<[&[u8]; 2], WireError> {
    let mut found = [None; 2];
    for field in Fields::of(message) {
        let (number, value) = field?;
        let place = match number {
            n if n == first => &mut found[0],
            n if n == second => &mut found[1],
            _ => continue,
        };
        if place.replace(length_delimited(number, value)?).is_some() {
            return Err(WireError::Repeated { number });
        }
    }
    Ok(found.map(Option::unwrap_or_default))
}

#[cfg(test)]
mod tests;
