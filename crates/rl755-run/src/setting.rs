//! Settings that cannot be worked with.

use std::fmt::Display;

/// A setting that cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; it must be {expected}")]
pub struct SettingError {
    /// The setting.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What it must be.
    pub expected: &'static str,
}

impl SettingError {
    /// Says that `field` is `value` and must be what `expected` says.
    pub fn new(field: &'static str, value: impl Display, expected: &'static str) -> Self {
        Self { field, value: value.to_string(), expected }
    }

    /// Rejects the first of `settings` that is 0.
    ///
    /// # Errors
    /// When one is.
    pub fn not_zero<const N: usize>(settings: [(&'static str, u64); N]) -> Result<(), Self> {
        match settings.into_iter().find(|(_, value)| *value == 0) {
            Some((field, value)) => Err(Self::new(field, value, "at least 1")),
            None => Ok(()),
        }
    }
}
