//! What an encoder says of an observation beside the latent, by name: sequences of their own.

use std::collections::BTreeMap;

use ndarray::Array2;

use super::{Domain, Parsed, SchemaError, float_rows};
use crate::proto::Feature;

/// What the key of an extra begins with; its name follows.
pub(crate) const PREFIX: &str = "observation_extras/";

/// The most characters of an extra's name.
const LONGEST_NAME: usize = 64;

/// The sequence in which the extra called `name` is stored.
pub(crate) fn key(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// Whether an extra may be called that: 1 to 64 ASCII letters, digits, `_`, `-` and `.`.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// The sequences of `extras`, each `[steps, width]`.
pub(super) fn features(
    extras: &BTreeMap<String, Array2<f32>>,
    steps: usize,
) -> Result<Vec<(String, Vec<Feature>)>, SchemaError> {
    let feature = |(name, values): (&String, &Array2<f32>)| {
        let width = values.ncols();
        check(name, width)?;
        let rows = float_rows("values", (steps, width), Domain::Finite, values.view());
        Ok((key(name), rows.map_err(of(name))?))
    };
    extras.iter().map(feature).collect()
}

/// The extras in a record, by name.
pub(super) fn read(parsed: &Parsed<'_>) -> Result<BTreeMap<String, Array2<f32>>, SchemaError> {
    let mut extras = BTreeMap::new();
    for key in parsed.keys_with(PREFIX)? {
        let name = &key[PREFIX.len()..];
        let width = parsed.width(key).map_err(of(name))?;
        check(name, width)?;
        let values = parsed.floats_of(key, "values", width, Domain::Finite).map_err(of(name))?;
        let values = Array2::from_shape_vec((parsed.head.steps, width), values)
            .expect("floats gave one row of that width per step");
        extras.insert(name.to_owned(), values);
    }
    Ok(extras)
}

/// The widths of extras by name.
pub(crate) fn widths(extras: &BTreeMap<String, Array2<f32>>) -> BTreeMap<String, usize> {
    extras.iter().map(|(name, values)| (name.clone(), values.ncols())).collect()
}

/// Rejects names and widths that are not stored.
fn check(name: &str, width: usize) -> Result<(), SchemaError> {
    if !is_name(name) {
        return Err(SchemaError::ExtraName { name: name.to_owned() });
    }
    if width == 0 {
        let (found, expected) = ("without values".to_owned(), "a width of at least 1".to_owned());
        return Err(of(name)(SchemaError::Value { key: "values", step: None, found, expected }));
    }
    Ok(())
}

fn of(name: &str) -> impl Fn(SchemaError) -> SchemaError + '_ {
    move |source| SchemaError::Extra { name: name.to_owned(), source: Box::new(source) }
}
