//! Settings that cannot be worked with.

use std::fmt::Display;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// A setting that cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; it must be {expected}")]
pub struct SettingError {
    /// The setting.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What it must be.
    pub expected: String,
}

impl SettingError {
    /// Says that `field` is `value` and must be what `expected` says.
    pub fn new(field: &'static str, value: impl Display, expected: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), expected: expected.into() }
    }

    /// Rejects the first of `settings` that is not from 1 to `most`.
    ///
    /// # Errors
    /// When one is not.
    pub fn check_range<const N: usize>(
        most: u64,
        settings: [(&'static str, u64); N],
    ) -> Result<(), Self> {
        match settings.into_iter().find(|(_, value)| !(1..=most).contains(value)) {
            Some((field, value)) if most == u64::MAX => Err(Self::new(field, value, "at least 1")),
            Some((field, value)) => Err(Self::new(field, value, format!("from 1 to {most}"))),
            None => Ok(()),
        }
    }

    /// Rejects the first of `settings` that is 0.
    ///
    /// # Errors
    /// When one is.
    pub fn check_not_zero<const N: usize>(settings: [(&'static str, u64); N]) -> Result<(), Self> {
        Self::check_range(u64::MAX, settings)
    }
}

/// The settings in `given`, a JSON object or null; what is missing is as in the defaults of the whole.
///
/// # Errors
/// Says what is wrong, and in which field.
pub fn parse_settings<T: Default + Serialize + DeserializeOwned>(
    given: &Value,
) -> Result<T, String> {
    let given = match given {
        Value::Object(given) => given,
        Value::Null => return Ok(T::default()),
        other => return Err(format!("{other} is no object of settings")),
    };
    // Laid over the defaults, as those of a part (`serde(flatten)`) may differ from the part's own.
    let parse = |count: usize| -> Result<T, serde_json::Error> {
        let mut whole = match serde_json::to_value(T::default())? {
            Value::Object(whole) => whole,
            _ => Map::new(),
        };
        whole.extend(given.iter().take(count).map(|(name, value)| (name.clone(), value.clone())));
        serde_json::from_value(Value::Object(whole))
    };
    parse(given.len()).map_err(|error| {
        let reason = error.to_string();
        // The first of the fields without which all was well so far.
        let bad = (0..given.len()).find(|&count| parse(count + 1).is_err());
        match bad.and_then(|index| given.keys().nth(index)) {
            Some(field) if !reason.contains(&format!("`{field}`")) => format!("{field}: {reason}"),
            _ => reason,
        }
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Settings {
        beta: f64,
        hidden: Vec<usize>,
    }

    #[test]
    fn bad_settings_are_named() {
        let check = |given, expected: &str| {
            let error = parse_settings::<Settings>(&given).unwrap_err();
            assert_eq!(error, expected);
        };
        check(
            json!({ "beta": 1, "hidden": 5 }),
            "hidden: invalid type: integer `5`, expected a sequence",
        );
        check(
            json!({ "beta": "a", "hidden": [1] }),
            "beta: invalid type: string \"a\", expected f64",
        );
        check(json!({ "betta": 1 }), "unknown field `betta`, expected `beta` or `hidden`");
        check(json!([1]), "[1] is no object of settings");
        let expected = Settings { beta: 2.0, hidden: vec![] };
        assert_eq!(parse_settings::<Settings>(&json!({ "beta": 2 })).unwrap(), expected);
        assert_eq!(parse_settings::<Settings>(&Value::Null).unwrap(), Settings::default());
    }
}
