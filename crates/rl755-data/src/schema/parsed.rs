//! A record taken apart: its context, and its sequences as they are asked for.

use super::{Domain, Head, SchemaError, context};
use crate::{
    proto::example::{Example, FeatureListView, FeatureView},
    proto::wire::WireError,
};

/// A record whose context has been read and whose sequences have only been found.
#[derive(Debug)]
pub(crate) struct Parsed<'a> {
    pub(crate) head: Head,
    example: Example<'a>,
}

impl<'a> Parsed<'a> {
    pub(crate) fn from_record(record: &'a [u8]) -> Result<Self, SchemaError> {
        let example = Example::parse(record)?;
        Ok(Self { head: Head::read(&example)?, example })
    }

    /// Looks at what nobody asks for: every key but those of the context and the sequences `read`
    /// may hold anything, but that must be sound messages too.
    pub(crate) fn check_others(&self, read: impl Fn(&str) -> bool) -> Result<(), SchemaError> {
        Ok(self.example.check(|key| context::ALL.contains(&key) || read(key))?)
    }

    fn list(&self, key: &'static str) -> Result<FeatureListView<'a>, SchemaError> {
        self.example.list(key)?.ok_or(SchemaError::Missing { key, part: "feature_lists" })
    }

    /// The keys of sequences that begin with `prefix`.
    pub(crate) fn keys_with(&self, prefix: &str) -> Result<Vec<&'a str>, SchemaError> {
        Ok(self.example.list_keys(|key| key.starts_with(prefix))?)
    }

    /// How many floats the first step of the sequence `key` has; 0 where it has none.
    pub(crate) fn width(&self, key: &str) -> Result<usize, SchemaError> {
        let Some(list) = self.example.list(key)? else { return Ok(0) };
        let Some(first) = list.features().next() else { return Ok(0) };
        let mut values = Vec::new();
        FeatureView::parse(first?)?.append_floats(&mut values)?;
        Ok(values.len())
    }

    /// The features of a sequence, one per step, as [`byte_string`] reads them.
    pub(crate) fn features(&self, key: &'static str) -> Result<Vec<&'a [u8]>, SchemaError> {
        let list = self.list(key)?;
        // Not more than the bytes there are can hold, whatever the context says.
        let mut features = Vec::with_capacity(self.head.steps.min(list.bytes() / 2));
        let mut rest = list.features();
        for feature in rest.by_ref().take(self.head.steps) {
            features.push(feature?);
        }
        self.check_steps(key, list, features.len(), rest.next())?;
        Ok(features)
    }

    /// A sequence of `width` floats of `domain` per step, one step after another.
    pub(crate) fn floats(
        &self,
        key: &'static str,
        width: usize,
        domain: Domain,
    ) -> Result<Vec<f32>, SchemaError> {
        self.floats_of(key, key, width, domain)
    }

    /// As [`floats`](Self::floats), of the sequence `list`, which errors call `key`.
    pub(crate) fn floats_of(
        &self,
        list: &str,
        key: &'static str,
        width: usize,
        domain: Domain,
    ) -> Result<Vec<f32>, SchemaError> {
        let missing = SchemaError::Missing { key, part: "feature_lists" };
        let list = self.example.list(list)?.ok_or(missing)?;
        // Not more than the bytes there are can hold, whatever the context says.
        let expected = self.head.steps.saturating_mul(width);
        let mut values = Vec::with_capacity(expected.min(list.bytes() / 4));
        let mut steps = 0;
        let mut rest = list.features();
        for feature in rest.by_ref().take(self.head.steps) {
            let feature = FeatureView::parse(feature?)?;
            let start = values.len();
            if !feature.append_floats(&mut values)? || values.len() - start != width {
                return Err(SchemaError::Shape {
                    key,
                    step: Some(steps),
                    found: feature.describe(),
                    expected: format!("{width} floats"),
                });
            }
            steps += 1;
        }
        self.check_steps(key, list, steps, rest.next())?;
        domain.check(key, 0, width, &values)?;
        Ok(values)
    }

    /// Checks that a sequence has as many steps as the context says. `read` have been read, and no
    /// more than that; `next` is what comes after them.
    fn check_steps(
        &self,
        key: &'static str,
        list: FeatureListView<'_>,
        read: usize,
        next: Option<Result<&[u8], WireError>>,
    ) -> Result<(), SchemaError> {
        if read == self.head.steps && next.transpose()?.is_none() {
            return Ok(());
        }
        Err(SchemaError::Shape {
            key,
            step: None,
            found: format!("{} steps", list.features().count()),
            expected: format!("{} steps", self.head.steps),
        })
    }
}

/// The one byte string of a feature of the sequence `key`.
pub(crate) fn byte_string<'a>(
    key: &'static str,
    step: usize,
    feature: &'a [u8],
) -> Result<&'a [u8], SchemaError> {
    let feature = FeatureView::parse(feature)?;
    feature.byte_string()?.ok_or_else(|| SchemaError::Shape {
        key,
        step: Some(step),
        found: feature.describe(),
        expected: "1 byte string".to_owned(),
    })
}
